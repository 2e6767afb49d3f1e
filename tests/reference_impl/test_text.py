"""Text to documents: which tokens, in which order, and which of them are trained on."""

from __future__ import annotations

from pathlib import Path

import pytest

from reference_impl.documents import PackSpec
from reference_impl.errors import PackingError
from reference_impl.reference import ReferenceImplementation
from reference_impl.text import document_of

RECORD = {"input": "ab", "output": "cd", "source": "a test"}


class Letters:
    """One token per letter."""

    eos_id = 2
    eod = 3

    def text_to_ids(self, text: str) -> list[int]:
        return [ord(letter) for letter in text]


def test_a_document_is_input_output_and_eos() -> None:
    """Other entries of the record are nobody's business here."""
    document = document_of(RECORD, Letters())
    assert document.tokens.tolist() == [*b"abcd", Letters.eos_id]
    assert document.tokens.dtype == "int64"


def test_output_and_eos_are_trainable() -> None:
    """The answer starts with the first token of the output, and no mask contradicts that."""
    document = document_of(RECORD, Letters())
    assert document.answer_start == 2
    assert document.loss_mask is None


@pytest.mark.parametrize(
    ("record", "missing"),
    [
        ({"input": "ab"}, "must have output"),
        ({"output": "ab"}, "must have input"),
        ({"question": "ab"}, "must have input and output"),
    ],
)
def test_a_record_without_input_or_output_is_refused(record: dict[str, str], missing: str) -> None:
    """The error shows the record and says what it lacks."""
    with pytest.raises(PackingError) as raised:
        document_of(record, Letters())
    assert (raised.value.argument, raised.value.value) == ("record", record)
    assert raised.value.requirement == missing


@pytest.mark.parametrize("suffix", [".parquet", ".npy"])
def test_prepared_text_is_the_prepared_documents(suffix: str, tmp_path: Path) -> None:
    """The suffix chooses the format; the rows are those of the documents."""
    reference = ReferenceImplementation()
    records = [RECORD, {"input": "e", "output": "fgh"}]
    prepared = reference.prepare_text(records, Letters(), PackSpec(8), tmp_path, suffix)
    assert prepared.rows.suffix == suffix
    packed = reference.pack_documents([document_of(record, Letters()) for record in records], PackSpec(8))
    rows = reference.read_rows(prepared.rows)
    assert [row.tokens.tolist() for row in rows] == [row.tokens.tolist() for row in packed.rows]
    assert [row.loss_mask.tolist() for row in rows] == [row.loss_mask.tolist() for row in packed.rows]

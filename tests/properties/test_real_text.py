"""The text and the tokenizer are real, and each law on text catches a bug of the museum."""

from __future__ import annotations

import pytest

from properties.law import Verdict, catalogue
from properties.museum import museum
from properties.real_text import mistral_tokenizer, records
from properties.real_text.text import LONGEST, SHORTEST
from reference_impl.errors import PackingError
from reference_impl.text import document_of

KILLS = {
    "TXT-001": "X-TXT-1",
    "TXT-002": "X-PAD-1",
    "TXT-002[several ranks]": "MB-08",
    "TXT-003": "X-TXT-2",
    "TXT-004": "X-STR-1",
    "TXT-005": "TT-01",
    "TXT-006": "X-COL-1",
    "TXT-007": "X-COL-4",
    "TXT-008": "MB-14",
    "TXT-009": "X-PAD-8",
    "TXT-010": "X-COL-1",
}


def test_there_is_text_of_many_lengths() -> None:
    words = [len((record["input"] + " " + record["output"]).split()) for record in records()]
    assert len(words) >= 50
    assert min(words) >= SHORTEST
    assert max(words) <= LONGEST
    assert len(set(words)) > 20


def test_the_tokenizer_is_a_real_one() -> None:
    tokenizer = mistral_tokenizer()
    assert tokenizer is not None, "mistral-common is in the development group"
    tokens = tokenizer.text_to_ids("Packing, documents!")
    assert len(tokens) < len("Packing, documents!")
    assert tokenizer.eos_id not in tokens


def test_a_record_without_an_output_is_refused() -> None:
    tokenizer = mistral_tokenizer()
    assert tokenizer is not None
    with pytest.raises(PackingError, match="must have output"):
        document_of({"input": "2 + 3 ="}, tokenizer)


def test_every_law_on_text_is_named_here() -> None:
    assert set(KILLS) == {key for key in catalogue() if key.startswith("TXT-")}


@pytest.mark.parametrize(("key", "bug"), KILLS.items())
def test_every_law_on_text_catches_a_bug(key: str, bug: str) -> None:
    assert catalogue()[key].run(museum()[bug].implementation()).verdict is Verdict.FAILED

"""The fast offline path against the operation that specifies it."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from properties.law import ALL_CHECKS
from properties.strategies.documents import Answers, Kind, Run, Tokens, packings
from properties.strategies.lengths import multiples, parted, unpadded
from reference_impl import fast_offline
from reference_impl.documents import Algorithm, Document, Overlong, PackSpec
from reference_impl.errors import PackingError
from reference_impl.parquet_rows import ROWS_PER_GROUP
from reference_impl.reference import ReferenceImplementation

DRAWS = settings(deadline=None, database=None, derandomize=True, suppress_health_check=ALL_CHECKS)
FEW, MANY = 200, 10_000
REFERENCE = ReferenceImplementation()


@st.composite
def _runs(draw: st.DrawFn) -> tuple[tuple[Document, ...], PackSpec]:
    """Any documents, settings and algorithm, some documents with padding of their own."""
    kind = Kind(draw(st.sampled_from(Tokens)), draw(st.sampled_from(Answers)), pad_is_eos=draw(st.booleans()))
    padded = draw(st.sampled_from((unpadded, multiples)))
    runs = [run for run in Run if run != Run.NEAR_LIMIT or padded is multiples]
    documents, spec = draw(
        packings(draw(st.sampled_from(runs)), kind, multiple_of=padded, overlong=draw(st.sampled_from(Overlong)))
    )
    valid = draw(st.none() | st.integers(0, 3))
    if valid is not None:
        first = documents[0]
        shorter = max(first.tokens.size - valid, 0)
        documents = (Document(first.tokens, first.loss_mask, first.answer_start, shorter), *documents[1:])
    algorithm = draw(st.sampled_from(Algorithm))
    return documents, PackSpec(**{**vars(spec), "algorithm": algorithm})


_documents, _spec = parted(_runs())


def _prepared(prepare, documents: tuple[Document, ...], spec: PackSpec) -> object:  # noqa: ANN001
    """Rows, metadata and schema on disk, or the argument that was refused."""
    with TemporaryDirectory() as folder:
        try:
            files = prepare(documents, spec, Path(folder))
        except PackingError as error:
            assert list(Path(folder).iterdir()) == []
            return error.argument
        rows, schema = REFERENCE.read_rows(files.rows), parquet.read_schema(files.rows)
        entries = json.loads((Path(folder) / "metadata.json").read_text(encoding="utf-8"))
        assert entries == [vars(entry) for entry in files.metadata]
        assert {path.name for path in Path(folder).iterdir()} == {"packed.parquet", "metadata.json"}
    return (
        [(row.tokens.tolist(), row.loss_mask.tolist(), row.starts.tolist(), row.valid.tolist()) for row in rows],
        entries,
        schema,
    )


def _agree(documents: tuple[Document, ...], spec: PackSpec) -> None:
    assert _prepared(fast_offline.prepare, documents, spec) == _prepared(REFERENCE.prepare, documents, spec)


@settings(DRAWS, max_examples=FEW)
@given(documents=_documents, spec=_spec)
def test_the_fast_path_leaves_the_files_of_the_specification(documents: tuple[Document, ...], spec: PackSpec) -> None:
    """Same rows in the same order, same metadata, and the same refusals."""
    _agree(documents, spec)


@pytest.mark.deep
@pytest.mark.timeout(1800)
@settings(DRAWS, max_examples=MANY)
@given(documents=_documents, spec=_spec)
def test_the_fast_path_leaves_the_files_of_the_specification_ten_thousand_times(
    documents: tuple[Document, ...], spec: PackSpec
) -> None:
    """As above, many times."""
    _agree(documents, spec)


MIXED = (
    Document(np.arange(10, 15), answer_start=2),
    Document(np.arange(20, 29), loss_mask=np.array([0, 0, 1, 0, 1, 1, 0, 1, 1], dtype=np.bool_)),
    Document(np.arange(30, 33), answer_start=0, valid=1),
    Document(np.array([], dtype=np.int64), answer_start=0),
    Document(np.arange(40, 61), answer_start=7, valid=18),
    Document(np.array([70]), answer_start=0),
    Document(np.arange(80, 92), loss_mask=np.arange(12) % 3 == 0, valid=9),
    Document(np.arange(100, 105), answer_start=9),
    Document(np.arange(110, 115), answer_start=1, valid=0),
    Document(np.arange(120, 144), loss_mask=np.arange(24) % 2 == 1, valid=3),
)
"""Masks in both forms, padding of their own, over-long, of one token, of none, and several of one length.

The last one, split, has a part of nothing but padding, which ends short of a multiple of 4.
"""


@pytest.mark.parametrize("overlong", [Overlong.TRUNCATE, Overlong.DROP, Overlong.SPLIT])
@pytest.mark.parametrize("algorithm", Algorithm)
def test_the_fast_path_packs_mixed_documents_as_specified(algorithm: Algorithm, overlong: Overlong) -> None:
    """With and without a multiple, and with a limit below the capacity."""
    for limits in ({"capacity": 12}, {"capacity": 14, "pad_multiple": 4}, {"capacity": 16, "max_length": 8}):
        _agree(MIXED, PackSpec(**limits, algorithm=algorithm, overlong=overlong, pad_id=3, seed=5))


def test_the_fast_path_takes_no_multiple_for_one_of_one() -> None:
    """As ``pad_multiple`` says."""
    _agree(MIXED, PackSpec(capacity=12, pad_multiple=None, seed=5))


def test_the_fast_path_draws_among_documents_of_one_slot() -> None:
    """The shortest there are, but for those that fill none."""
    _agree(tuple(Document(np.array([n, n]), answer_start=0) for n in range(9)), PackSpec(capacity=4, seed=5))


def test_the_fast_path_takes_a_mask_of_numbers_for_truth_values() -> None:
    """Whatever is not 0 is trained on."""
    weights: Any = np.array([0.0, 0.5, 0.0, 2.0])
    _agree((Document(np.array([5, 6, 7, 8]), loss_mask=weights),), PackSpec(capacity=4))


@pytest.mark.parametrize("beside", [-1, 0, 1])
def test_row_groups_do_not_show(beside: int) -> None:
    """A row less than a row group, a whole one, and one more."""
    documents = tuple(Document(np.array([n, n, n]), answer_start=1) for n in range(ROWS_PER_GROUP + beside))
    _agree(documents, PackSpec(capacity=3))


@pytest.mark.parametrize(
    ("documents", "argument"),
    [
        ((), "documents"),
        ((Document(np.array([1, 2])),), "loss_mask"),
        ((Document(np.array([1, 2]), loss_mask=np.array([True])),), "loss_mask"),
        ((Document(np.array([1, 2]), answer_start=-1),), "answer_start"),
        ((Document(np.array([1, 2]), answer_start=0, valid=3),), "valid"),
    ],
)
def test_the_fast_path_refuses_before_it_touches_a_file(
    documents: tuple[Document, ...], argument: str, tmp_path: Path
) -> None:
    """An earlier preparation is left as it was."""
    earlier = fast_offline.prepare((Document(np.array([7, 8]), answer_start=1),), PackSpec(capacity=4), tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(PackingError) as raised:
        fast_offline.prepare(documents, PackSpec(capacity=4), tmp_path)
    assert raised.value.argument == argument
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert earlier.rows.is_file()

"""Bad input of the offline half: a typed error that names the argument and the value, never a wrong pack."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reference_impl import fast_offline
from reference_impl.batches import CollateSpec
from reference_impl.documents import Algorithm, Document, Overlong, PackedRow, PackSpec
from reference_impl.errors import PackingError
from reference_impl.reference import ReferenceImplementation

REFERENCE = ReferenceImplementation()
FF = Algorithm.FIRST_FIT
GOOD = Document(np.array([5, 6, 7, 0]), answer_start=1)
ROW = PackedRow(np.array([5, 6, 0, 8, 0]), np.array([1, 1, 0, 1, 0], dtype=np.bool_), np.array([0, 3]))


@dataclass(frozen=True)
class Case:
    """One call that must be refused.

    Attributes:
        call: the call.
        argument: what the error must name.
        value: what the error must show, as it prints.
    """

    call: Callable[[], Any]
    argument: str
    value: str


def lengths(*values: float) -> Any:
    return np.array(values)


def fill(document: Document, bins: Any = ((3,),), capacity: int = 8) -> Any:
    return REFERENCE.fill([document], bins, capacity, 0, 0)


def pack(*documents: Document, **settings: Any) -> Any:
    return REFERENCE.pack_documents(documents, PackSpec(**{"capacity": 8, **settings}))


def collate(row: PackedRow, **settings: Any) -> Any:
    return REFERENCE.collate([row], [0], CollateSpec(**{"width": 8, **settings}))


CASES = {
    "a length that is no integer": Case(lambda: REFERENCE.assign_bins(lengths(1.5), 8, FF, 0), "lengths", "1.5"),
    "a truth value as a length": Case(lambda: REFERENCE.assign_bins(np.array([True]), 8, FF, 0), "lengths", "True"),
    "a table of lengths": Case(lambda: REFERENCE.assign_bins(np.array([[3]]), 8, FF, 0), "lengths", "[[3]]"),
    "text as lengths": Case(lambda: REFERENCE.assign_bins(np.array(["3"]), 8, FF, 0), "lengths", "'3'"),
    "a negative length": Case(lambda: REFERENCE.assign_bins(lengths(3, -2), 8, FF, 0), "lengths", "-2"),
    "a length beyond the capacity": Case(lambda: REFERENCE.assign_bins(lengths(3, 9), 8, FF, 0), "lengths", "9"),
    "no capacity": Case(lambda: REFERENCE.assign_bins(lengths(3), 0, FF, 0), "capacity", "0"),
    "an unknown algorithm": Case(lambda: REFERENCE.assign_bins(lengths(3), 8, "next_fit", 0), "algorithm", "next_fit"),  # type: ignore[arg-type]
    "a negative seed": Case(
        lambda: REFERENCE.assign_bins(lengths(3), 8, Algorithm.FIRST_FIT_SHUFFLE, -1), "seed", "-1"
    ),
    "a histogram of text": Case(lambda: REFERENCE.histogram(np.array(["3"]), 8), "lengths", "'3'"),
    "a length below -1": Case(lambda: REFERENCE.histogram(lengths(-2), 8), "lengths", "-2"),
    "a negative limit": Case(lambda: REFERENCE.histogram(lengths(3), -1), "max_length", "-1"),
    "a negative count": Case(lambda: REFERENCE.packing_strategy(lengths(0, -1), 8, FF, 0), "counts", "-1"),
    "a count of parts of documents": Case(lambda: REFERENCE.packing_strategy(lengths(0.5), 8, FF, 0), "counts", "0.5"),
    "counts of nothing": Case(lambda: REFERENCE.packing_strategy(lengths(0, 0), 8, FF, 0), "counts", "2 times 0"),
    "a strategy by an unknown algorithm": Case(
        lambda: REFERENCE.packing_strategy(np.array([0, 1]), 8, "next_fit", 0),  # type: ignore[arg-type]
        "algorithm",
        "next_fit",
    ),
    "a mask longer than its document": Case(
        lambda: fill(replace(GOOD, loss_mask=np.ones(5, dtype=np.bool_))), "loss_mask", "(5,)"
    ),
    "a document that says nothing of loss": Case(lambda: fill(replace(GOOD, answer_start=None)), "loss_mask", "None"),
    "an answer before the document": Case(lambda: fill(replace(GOOD, answer_start=-1)), "answer_start", "-1"),
    "more valid tokens than tokens": Case(lambda: fill(replace(GOOD, valid=5)), "valid", "5"),
    "bins of other lengths": Case(lambda: fill(GOOD, ((4,),)), "bins", "(4,)"),
    "an empty bin": Case(lambda: fill(GOOD, ((3,), ())), "bins", "()"),
    "a bin beyond the capacity": Case(lambda: fill(GOOD, capacity=2), "bins", "(3,)"),
    "a multiple of 0": Case(lambda: REFERENCE.pad_document(GOOD, 8, 0, 0), "multiple", "0"),
    "a multiple beyond the limit": Case(lambda: REFERENCE.pad_document(GOOD, 8, 16, 0), "max_length", "8"),
    "a pack of no slot": Case(lambda: pack(GOOD, capacity=0), "capacity", "0"),
    "a longest length of 0": Case(lambda: pack(GOOD, max_length=0), "max_length", "0"),
    "no document": Case(pack, "documents", "0"),
    "an overlong document, rejected": Case(
        lambda: pack(GOOD, capacity=2, overlong=Overlong.REJECT), "documents[0]", "3 slots"
    ),
    "an unknown policy": Case(lambda: pack(GOOD, overlong="ignore"), "overlong", "ignore"),
    "packing by an unknown algorithm": Case(lambda: pack(GOOD, algorithm="next_fit"), "algorithm", "next_fit"),
    "a mask of another length in a split document": Case(
        lambda: pack(replace(GOOD, loss_mask=np.ones(6, dtype=np.bool_)), capacity=2, overlong=Overlong.SPLIT),
        "loss_mask",
        "(6,)",
    ),
    "no row of an epoch": Case(lambda: REFERENCE.epoch_order(0, 5, 0), "n_rows", "0"),
    "fewer than no sample": Case(lambda: REFERENCE.epoch_order(5, -1, 0), "n_samples", "-1"),
    "no row to collate": Case(lambda: REFERENCE.collate([], [0], CollateSpec(8)), "rows", "[]"),
    "a sample that is not there": Case(lambda: REFERENCE.collate([ROW], [1], CollateSpec(8)), "indices", "1"),
    "a row wider than the width": Case(lambda: collate(ROW, width=2), "rows", "3 slots"),
    "boundaries that decrease": Case(lambda: collate(replace(ROW, starts=np.array([0, 3, 2]))), "starts", "[0, 3, 2]"),
    "boundaries that start behind 0": Case(lambda: collate(replace(ROW, starts=np.array([1, 3]))), "starts", "[1, 3]"),
    "a row of no document": Case(lambda: collate(replace(ROW, starts=np.array([], dtype=int))), "starts", "[]"),
    "a start behind the row": Case(lambda: collate(replace(ROW, starts=np.array([0, 5]))), "starts", "[0, 5]"),
    "a row with half a mask": Case(lambda: collate(replace(ROW, loss_mask=ROW.loss_mask[:2])), "loss_mask", "(2,)"),
    "more valid tokens than a segment": Case(lambda: collate(replace(ROW, valid=np.array([3, 3]))), "valid", "[3, 3]"),
    "valid lengths of other documents": Case(lambda: collate(replace(ROW, valid=np.array([3]))), "valid", "[3]"),
    "static boundaries without metadata": Case(
        lambda: collate(ROW, static_boundaries=True), "static_boundaries", "True"
    ),
    "a width multiple of 0": Case(lambda: collate(ROW, width_multiple=0), "width_multiple", "0"),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_named(name: str) -> None:
    """The error is a ``PackingError``, and its message holds the argument and the value."""
    case = CASES[name]
    with pytest.raises(PackingError) as raised:
        case.call()
    assert raised.value.argument == case.argument
    assert case.value in str(raised.value)


@pytest.mark.parametrize("prepare", [REFERENCE.prepare, fast_offline.prepare], ids=["specification", "fast"])
@pytest.mark.parametrize(
    ("settings", "argument"),
    [
        ({"capacity": 0}, "capacity"),
        ({"algorithm": "next_fit"}, "algorithm"),
        ({"overlong": "ignore"}, "overlong"),
        ({"pad_multiple": 0}, "multiple"),
        ({"pad_multiple": 16}, "max_length"),
        ({"seed": -1}, "seed"),
        ({"capacity": 2, "overlong": Overlong.REJECT}, "documents[0]"),
        ({"capacity": 2, "overlong": Overlong.DROP}, "documents"),
    ],
)
def test_both_ways_to_prepare_refuse_bad_settings(
    prepare: Callable[..., Any], settings: dict[str, Any], argument: str, tmp_path: Path
) -> None:
    """Settings are refused before a file is touched."""
    with pytest.raises(PackingError) as raised:
        prepare([GOOD], PackSpec(**{"capacity": 8, **settings}), tmp_path)
    assert raised.value.argument == argument
    assert list(tmp_path.iterdir()) == []


def _npy(content: object) -> bytes:
    array = np.empty(1, dtype=np.object_)
    array[0] = content
    return pickle.dumps(array)


@pytest.mark.parametrize("suffix", [".parquet", ".npy"])
@pytest.mark.parametrize(
    "content",
    [b"", b"PAR1", b"something else", _npy({"input_ids": [1]}), b"PAR1" + bytes(100) + b"PAR1"],
    ids=["empty", "a magic number only", "text", "a bare pickle", "zeros"],
)
def test_foreign_files_are_refused_by_their_path(content: bytes, suffix: str, tmp_path: Path) -> None:
    """Whatever is in the file, the error names the path."""
    path = tmp_path / f"rows{suffix}"
    path.write_bytes(content)
    with pytest.raises(PackingError, match="must be a whole file of packed rows") as raised:
        REFERENCE.read_rows(path)
    assert raised.value.argument == "path"
    assert str(path) in str(raised.value)


@pytest.mark.parametrize("suffix", [".parquet", ".npy"])
def test_a_file_cut_anywhere_is_refused(suffix: str, tmp_path: Path) -> None:
    """A half-written file is never half a data set."""
    path = tmp_path / f"rows{suffix}"
    REFERENCE.write_rows([ROW] * 3, path)
    whole = path.read_bytes()
    for kept in range(0, len(whole), 41):
        path.write_bytes(whole[:kept])
        with pytest.raises(PackingError):
            REFERENCE.read_rows(path)

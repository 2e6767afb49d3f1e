"""Packed rows on disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from properties.claims import holds, is_deliberate, refuses, same
from properties.law import Activity, law
from properties.strategies.rows import Padded, RowKind, collations, stored_rows
from reference_impl.documents import PackedRow
from reference_impl.errors import NotSupported
from reference_impl.interface import Implementation, Op

Rows = tuple[PackedRow, ...]

_rows = stored_rows()
_padded_rows = collations(RowKind(padded=Padded.EOS)).map(lambda made: made[0])
_tiny_rows = collations(RowKind(empty=True)).map(lambda made: made[0])

ROW_GROUP = 500
"""Rows of one group in Bridge's Parquet files."""


def _several_rows(rows: Rows, **_: object) -> bool:
    return len(rows) > 1


SEVERAL = Activity("two or more rows", _several_rows, 0.4)


@law(
    "ROW-001",
    facet="parquet",
    needs={Op.WRITE_ROWS, Op.READ_ROWS},
    harm="a run trains on other tokens, or on other targets, than were packed",
    sources=("P-ROUNDTRIP", "MB-26"),
    activity=SEVERAL,
)
@given(rows=_rows)
def test_parquet_gives_back_what_was_written(implementation: Implementation, rows: Rows) -> None:
    """Rows read from Parquet are the rows that were written, in order."""
    _gives_back(implementation, rows, ".parquet")


@law(
    "ROW-001",
    facet="npy",
    needs={Op.WRITE_ROWS, Op.READ_ROWS},
    harm="a run trains on other tokens, or on other targets, than were packed",
    sources=("P-ROUNDTRIP", "bridge-packing 2.9"),
    activity=SEVERAL,
)
@given(rows=_rows)
def test_npy_gives_back_what_was_written(implementation: Implementation, rows: Rows) -> None:
    """Rows read from a NumPy file are the rows that were written, in order."""
    _gives_back(implementation, rows, ".npy")


@law(
    "ROW-001",
    facet="nothing or everything trained on",
    needs={Op.WRITE_ROWS, Op.READ_ROWS},
    harm="files of uniform masks cannot be written, or are read with another type",
    sources=("P-ROUNDTRIP", "MB-26", "S41"),
)
@given(rows=_rows, weight=st.booleans(), suffix=st.sampled_from((".parquet", ".npy")))
def test_uniform_masks_come_back(implementation: Implementation, rows: Rows, weight: bool, suffix: str) -> None:
    """Rows whose masks are all zero or all one come back as they were."""
    uniform = tuple(
        PackedRow(row.tokens, np.full(len(row.tokens), weight, dtype=np.bool_), row.starts) for row in rows
    )
    _gives_back(implementation, uniform, suffix)


@law(
    "ROW-001",
    facet="documents of one token",
    needs={Op.WRITE_ROWS, Op.READ_ROWS},
    harm="documents of a single token merge with their neighbours",
    sources=("P-ROUNDTRIP", "P-TOTAL", "S42"),
)
@given(rows=_tiny_rows, suffix=st.sampled_from((".parquet", ".npy")))
def test_documents_of_one_token_come_back(implementation: Implementation, rows: Rows, suffix: str) -> None:
    """Rows with documents that fill no slot come back as they were."""
    _gives_back(implementation, rows, suffix)


@law(
    "ROW-001",
    facet="more rows than a row group",
    needs={Op.WRITE_ROWS, Op.READ_ROWS},
    harm="rows behind the first group are lost, repeated or exchanged",
    sources=("P-ROUNDTRIP", "bridge-packing 2.10"),
)
@given(groups=st.integers(1, 2), beside=st.integers(-1, 1))
def test_row_groups_do_not_show(implementation: Implementation, groups: int, beside: int) -> None:
    """Files of one or more whole row groups, a row less or a row more, come back in order."""
    n_rows = groups * ROW_GROUP + beside
    _gives_back(implementation, tuple(_short_row(number) for number in range(n_rows)), ".parquet")


@law(
    "ROW-002",
    needs={Op.WRITE_ROWS, Op.READ_ROWS},
    harm="padding is trained on or attended to as if it were text",
    sources=("P-ROUNDTRIP", "P-VALUE", "MB-14"),
)
@given(rows=_padded_rows, suffix=st.sampled_from((".parquet", ".npy")))
def test_valid_lengths_come_back_or_are_unknown(implementation: Implementation, rows: Rows, suffix: str) -> None:
    """Lengths without padding come back as they were, or as unknown, but never changed."""
    with _file(suffix) as path:
        implementation.write_rows(rows, path)
        found = implementation.read_rows(path)
    for row, read in zip(rows, _all(found, rows), strict=True):
        if read.valid is not None:
            same(read.valid, row.valid, "the lengths without padding are those that were written")


@law(
    "ROW-003",
    needs={Op.WRITE_ROWS, Op.READ_ROWS},
    harm="a repeated preparation adds to the packs of the one before",
    sources=("P-ROUNDTRIP", "P-DET"),
    activity=SEVERAL,
)
@given(rows=_rows, suffix=st.sampled_from((".parquet", ".npy")))
def test_writing_replaces_an_earlier_file(implementation: Implementation, rows: Rows, suffix: str) -> None:
    """After a second write to the same path the file holds the second rows only."""
    with _file(suffix) as path:
        implementation.write_rows(rows, path)
        implementation.write_rows(rows[:1], path)
        _are_the_same(implementation.read_rows(path), rows[:1])


@law(
    "ROW-004",
    needs={Op.WRITE_ROWS},
    harm="the next step looks for the packs at their path and does not find them, or finds half of them",
    sources=("P-ROUNDTRIP", "Bridge #5780"),
)
@given(rows=_rows, suffix=st.sampled_from((".parquet", ".npy")))
def test_writing_leaves_one_file_at_the_path(implementation: Implementation, rows: Rows, suffix: str) -> None:
    """After writing, the folder holds a file at the given path and nothing else."""
    with _file(suffix) as path:
        implementation.write_rows(rows, path)
        same([found.name for found in path.parent.iterdir()], [path.name], "there is one file, at the given path")


@law(
    "ROW-005",
    facet="parquet missing",
    needs={Op.READ_ROWS},
    harm="a mistyped path looks like a defect of the trainer",
    sources=("P-TOTAL", "bridge-packing 2.10"),
)
@given(suffix=st.just(".parquet"))
def test_a_missing_parquet_file_is_refused(implementation: Implementation, suffix: str) -> None:
    """A path without a file is refused with an error that says so."""
    with _file(suffix) as path:
        refuses(lambda: implementation.read_rows(path), "a missing file is refused")


@law(
    "ROW-005",
    facet="npy missing",
    needs={Op.READ_ROWS},
    harm="the process ends with exit code 1 and no exception to catch",
    sources=("P-TOTAL", "S38"),
)
@given(suffix=st.just(".npy"))
def test_a_missing_npy_file_is_refused(implementation: Implementation, suffix: str) -> None:
    """A path without a file is refused with an error that says so."""
    with _file(suffix) as path:
        refuses(lambda: implementation.read_rows(path), "a missing file is refused")


@law(
    "ROW-005",
    facet="parquet half-written",
    needs={Op.WRITE_ROWS, Op.READ_ROWS},
    harm="a run trains on the part of the packs that was written before a crash",
    sources=("P-TOTAL", "Bridge #5780"),
)
@given(rows=_rows, kept=st.integers(0, 99))
def test_a_half_written_parquet_file_is_refused(implementation: Implementation, rows: Rows, kept: int) -> None:
    """A file that was cut off is refused with an error that says so."""
    with _file(".parquet") as path:
        implementation.write_rows(rows, path)
        _cut(path, kept)
        refuses(lambda: implementation.read_rows(path), "a half-written file is refused")


@law(
    "ROW-005",
    facet="npy half-written",
    needs={Op.WRITE_ROWS, Op.READ_ROWS},
    harm="the process ends with exit code 1 and no exception to catch",
    sources=("P-TOTAL", "S38"),
)
@given(rows=_rows, kept=st.integers(0, 99))
def test_a_half_written_npy_file_is_refused(implementation: Implementation, rows: Rows, kept: int) -> None:
    """A file that was cut off is refused with an error that says so."""
    with _file(".npy") as path:
        implementation.write_rows(rows, path)
        _cut(path, kept)
        refuses(lambda: implementation.read_rows(path), "a half-written file is refused")


@law(
    "ROW-005",
    facet="foreign parquet",
    needs={Op.READ_ROWS},
    harm="a file of something else is trained on, or fails much later",
    sources=("P-TOTAL", "bridge-packing 2.10"),
)
@given(content=st.text(max_size=40))
def test_a_foreign_parquet_file_is_refused(implementation: Implementation, content: str) -> None:
    """A file that holds something else is refused with an error that says so."""
    with _file(".parquet") as path:
        path.write_text(content, encoding="utf-8")
        refuses(lambda: implementation.read_rows(path), "a file of something else is refused")


@law(
    "ROW-006",
    facet="mask of another length",
    needs={Op.WRITE_ROWS, Op.READ_ROWS},
    harm="the loss of every document behind the gap falls on other tokens",
    sources=("P-TOTAL", "S9", "bridge-packing 2.10"),
)
@given(rows=_rows, suffix=st.just(".parquet"), missing=st.integers(1, 2))
def test_a_mask_of_another_length_is_refused(
    implementation: Implementation, rows: Rows, suffix: str, missing: int
) -> None:
    """A row whose mask is shorter than its tokens is refused, at the latest when it is read."""
    broken = replace(rows[-1], loss_mask=rows[-1].loss_mask[:-missing])
    _is_refused_in_time(implementation, (*rows[:-1], broken), suffix)


@law(
    "ROW-006",
    facet="tokens before the first document",
    needs={Op.WRITE_ROWS, Op.READ_ROWS},
    harm="tokens of no document are attended to, or the first document is lost",
    sources=("P-TOTAL", "P-BOUND", "bridge-packing 2.10"),
)
@given(rows=_rows, suffix=st.just(".parquet"))
def test_a_row_that_begins_before_its_first_document_is_refused(
    implementation: Implementation, rows: Rows, suffix: str
) -> None:
    """A row whose first document does not start at 0 is refused, at the latest when it is read."""
    last = rows[-1]
    broken = replace(last, starts=np.append(1, last.starts[1:]))
    _is_refused_in_time(implementation, (*rows[:-1], broken), suffix)


@law(
    "ROW-007",
    needs={Op.WRITE_ROWS, Op.READ_ROWS},
    harm="a preparation that packs nothing ends with an accident that names no cause",
    sources=("P-TOTAL", "S36"),
)
@given(suffix=st.just(".parquet"))
def test_writing_no_rows_is_no_accident(implementation: Implementation, suffix: str) -> None:
    """Writing no rows is refused with an error that says so, or gives a file that holds none."""
    with _file(suffix) as path:
        if _is_written(implementation, (), path):
            _holds_nothing(implementation, path)


@contextmanager
def _file(suffix: str) -> Iterator[Path]:
    """A path in a folder of its own, without a file."""
    with TemporaryDirectory() as folder:
        yield Path(folder) / f"rows{suffix}"


def _cut(path: Path, percent: int) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) * percent // 100])


def _short_row(number: int) -> PackedRow:
    tokens = np.asarray([number + 1, number + 2], dtype=np.int64)
    return PackedRow(tokens, np.asarray([number % 2, 0], dtype=np.bool_), np.asarray([0], dtype=np.int64))


def _gives_back(implementation: Implementation, rows: Rows, suffix: str) -> None:
    with _file(suffix) as path:
        implementation.write_rows(rows, path)
        _are_the_same(implementation.read_rows(path), rows)


def _are_the_same(found: Sequence[PackedRow], rows: Rows) -> None:
    for row, read in zip(rows, _all(found, rows), strict=True):
        same(read.tokens, row.tokens, "the tokens are those that were written")
        same(read.loss_mask, row.loss_mask, "the loss mask is the one that was written")
        same(read.starts, row.starts, "the borders are those that were written")


def _all(found: Sequence[PackedRow], rows: Rows) -> Sequence[PackedRow]:
    holds(len(found) == len(rows), "there are as many rows as were written", got=len(found), expected=len(rows))
    return found


def _is_written(implementation: Implementation, rows: Rows, path: Path) -> bool:
    """Whether rows are written; claims that they are, or are refused on purpose."""
    try:
        implementation.write_rows(rows, path)
    except NotSupported:
        raise
    except Exception as error:
        holds(is_deliberate(error), "rows are written, or refused on purpose", got=error)
        return False
    holds(path.is_file(), "rows that are not refused are in a file")
    return True


def _is_refused_in_time(implementation: Implementation, rows: Rows, suffix: str) -> None:
    with _file(suffix) as path:
        if _is_written(implementation, rows, path):
            refuses(lambda: implementation.read_rows(path), "a row that contradicts itself is refused")


def _holds_nothing(implementation: Implementation, path: Path) -> None:
    try:
        found = implementation.read_rows(path)
    except NotSupported:
        raise
    except Exception as error:
        holds(is_deliberate(error), "a file without rows is read, or refused on purpose", got=error)
    else:
        same(len(found), 0, "a file of no rows holds none")

"""Packed files: round trips, and every way a file can be wrong."""

from __future__ import annotations

import pickle
from functools import partial
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reference_impl.documents import PackedRow
from reference_impl.errors import PackingError
from reference_impl.parquet_rows import _lists_of, write_groups
from reference_impl.rows_io import check_row, read_rows, stored_lengths, write_atomically, write_rows

SUFFIXES = pytest.mark.parametrize("suffix", [".parquet", ".npy"])


def row(valid: list[int] | None = None) -> PackedRow:
    return PackedRow(
        tokens=np.array([5, 6, 7, 0, 8, 9, 0]),
        loss_mask=np.array([1, 1, 1, 0, 1, 1, 0], dtype=np.bool_),
        starts=np.array([0, 4]),
        valid=None if valid is None else np.array(valid),
    )


def same(a: PackedRow, b: PackedRow) -> bool:
    valid_a, valid_b = (None if r.valid is None else r.valid.tolist() for r in (a, b))
    arrays = ((a.tokens, b.tokens), (a.loss_mask, b.loss_mask), (a.starts, b.starts))
    return valid_a == valid_b and all(x.dtype == y.dtype and x.tolist() == y.tolist() for x, y in arrays)


@SUFFIXES
def test_rows_come_back_as_they_were_written(tmp_path: Path, suffix: str) -> None:
    rows = (row(), row([4, 2]), row())
    write_rows(rows, tmp_path / f"packed{suffix}")
    back = read_rows(tmp_path / f"packed{suffix}")
    assert all(same(a, b) for a, b in zip(rows, back, strict=True))


@SUFFIXES
def test_a_thousand_rows_come_back_in_order(tmp_path: Path, suffix: str) -> None:
    rows = [
        PackedRow(np.array([index, 1]), np.array([True, False]), np.array([0]), np.array([2])) for index in range(1100)
    ]
    write_rows(rows, tmp_path / f"packed{suffix}")
    assert [int(r.tokens[0]) for r in read_rows(tmp_path / f"packed{suffix}")] == list(range(1100))


@SUFFIXES
def test_writing_replaces_the_file_and_leaves_nothing_else(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"packed{suffix}"
    write_rows([row(), row()], path)
    write_rows([row()], path)
    assert len(read_rows(path)) == 1
    assert list(tmp_path.iterdir()) == [path]


def test_parquet_columns_have_the_types_of_megatron_bridge(tmp_path: Path) -> None:
    write_rows([row()], tmp_path / "packed.parquet")
    schema = pq.read_schema(tmp_path / "packed.parquet")
    assert all(pa.types.is_list(field.type) for field in schema)
    assert {field.name: field.type.value_type for field in schema} == {
        "input_ids": pa.int64(),
        "loss_mask": pa.int8(),
        "seq_start_id": pa.int64(),
    }


def test_parquet_spends_nothing_on_what_packs_never_hold(tmp_path: Path) -> None:
    """Only valid lengths may be null; tokens are split into bytes; there is no dictionary and no statistic."""
    write_rows([row(), row([4, 2])], tmp_path / "packed.parquet")
    file = pq.ParquetFile(tmp_path / "packed.parquet")
    assert {field.name: field.nullable for field in file.schema_arrow} == {
        "input_ids": False,
        "loss_mask": False,
        "seq_start_id": False,
        "valid_length": True,
    }
    elements = [field.type.value_field for field in file.schema_arrow]
    assert {(element.name, element.nullable) for element in elements} == {("element", False)}
    columns = [file.metadata.row_group(0).column(number) for number in range(4)]
    assert ["BYTE_STREAM_SPLIT" in column.encodings for column in columns] == [True, False, False, False]
    assert not any(column.has_dictionary_page or column.is_stats_set for column in columns)


def test_a_reader_holds_five_hundred_rows_at_a_time(tmp_path: Path) -> None:
    """As in the files of Megatron Bridge."""
    write_rows([row()] * 1100, tmp_path / "packed.parquet")
    metadata = pq.ParquetFile(tmp_path / "packed.parquet").metadata
    assert [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)] == [500, 500, 100]


def test_lists_are_read_whatever_chunks_they_come_in() -> None:
    chunks = [pa.array([[5, 6], None]), pa.array([[7]])]
    lists = [None if entry is None else entry.tolist() for entry in _lists_of(pa.chunked_array(chunks), "input_ids")]
    assert lists == [[5, 6], None, [7]]


def test_the_column_of_valid_lengths_is_there_when_a_row_knows_them(tmp_path: Path) -> None:
    write_rows([row(), row([4, 2])], tmp_path / "packed.parquet")
    assert pq.read_table(tmp_path / "packed.parquet").column("valid_length").to_pylist() == [None, [4, 2]]


def test_npy_holds_one_dict_per_row(tmp_path: Path) -> None:
    write_rows([row([4, 2]), row()], tmp_path / "packed.npy")
    first, second = np.load(tmp_path / "packed.npy", allow_pickle=True)
    assert first == {
        "input_ids": [5, 6, 7, 0, 8, 9, 0],
        "loss_mask": [1, 1, 1, 0, 1, 1, 0],
        "seq_start_id": [0, 4],
        "valid_length": [4, 2],
    }
    assert "valid_length" not in second


# Files of others


def test_parquet_masks_of_truth_values_and_more_columns_are_read(tmp_path: Path) -> None:
    table = {"input_ids": [[5, 6]], "loss_mask": [[True, False]], "seq_start_id": [[0]], "comment": ["older release"]}
    pq.write_table(pa.table(table), tmp_path / "packed.parquet")
    (read,) = read_rows(tmp_path / "packed.parquet")
    assert read.loss_mask.tolist() == [True, False]


def test_parquet_lists_with_large_offsets_are_read(tmp_path: Path) -> None:
    lists = pa.array([[5, 6]], type=pa.large_list(pa.int64()))
    table = {"input_ids": lists, "loss_mask": [[1, 0]], "seq_start_id": [[0]]}
    pq.write_table(pa.table(table), tmp_path / "packed.parquet")
    assert read_rows(tmp_path / "packed.parquet")[0].tokens.tolist() == [5, 6]


def test_npy_rows_of_lists_arrays_and_mixed_masks_are_read(tmp_path: Path) -> None:
    rows = [
        {"input_ids": [5, 6, 7], "loss_mask": [1, 1, False], "seq_start_id": [0]},
        {"input_ids": np.array([5, 6]), "loss_mask": np.array([True, False]), "seq_start_id": [np.int64(0)]},
    ]
    np.save(tmp_path / "packed.npy", np.array(rows, dtype=object), allow_pickle=True)
    assert [r.loss_mask.tolist() for r in read_rows(tmp_path / "packed.npy")] == [[True, True, False], [True, False]]


def test_npy_with_a_newer_header_is_read(tmp_path: Path) -> None:
    rows = np.array([{"input_ids": [5, 6], "loss_mask": [1, 0], "seq_start_id": [0]}], dtype=object)
    with (tmp_path / "packed.npy").open("wb") as file:
        np.lib.format.write_array(file, rows, version=(2, 0), allow_pickle=True)
    assert len(read_rows(tmp_path / "packed.npy")) == 1


# Files that must not be read


class Payload:
    """Pickles as a call of ``print``."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return print, ("code of the file was run",)


def test_a_pickle_that_names_a_foreign_global_is_refused_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "packed.npy", np.array([Payload()], dtype=object), allow_pickle=True)
    with pytest.raises(PackingError, match=r"builtins\.print"):
        read_rows(tmp_path / "packed.npy")
    assert capsys.readouterr().out == ""


def npy_of(content: object, path: Path) -> None:
    """Write an object header followed by any pickle."""
    np.save(path, np.array([None], dtype=object), allow_pickle=True)
    whole = path.read_bytes()
    header = whole[: 10 + int.from_bytes(whole[8:10], "little")]
    path.write_bytes(header + pickle.dumps(content))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ([1, 2], "content = 'list': must be a one-dimensional array"),
        (np.array([[None]], dtype=object), "one-dimensional array"),
        (np.array([7], dtype=object), "row = 'int': must be a dict"),
        (np.array([{"input_ids": [1]}], dtype=object), "must hold loss_mask"),
        (np.array([{"input_ids": [[1]], "loss_mask": [[0]], "seq_start_id": [0]}], dtype=object), "list of integers"),
        (np.array([{"input_ids": [], "loss_mask": [], "seq_start_id": [0]}], dtype=object), "starts"),
        (np.array([], dtype=object), "at least one row"),
    ],
)
def test_npy_content_that_is_no_list_of_rows_is_refused(tmp_path: Path, content: object, reason: str) -> None:
    npy_of(content, tmp_path / "packed.npy")
    with pytest.raises(PackingError, match=reason):
        read_rows(tmp_path / "packed.npy")


def test_npy_of_numbers_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "packed.npy", np.arange(3))
    with pytest.raises(PackingError, match="int64"):
        read_rows(tmp_path / "packed.npy")


@SUFFIXES
@pytest.mark.parametrize("kept", [0.0, 0.5, 0.97])
def test_a_half_written_file_is_refused_with_its_path(tmp_path: Path, suffix: str, kept: float) -> None:
    path = tmp_path / f"packed{suffix}"
    write_rows([row()] * 20, path)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * kept)])
    with pytest.raises(PackingError, match=f"packed{suffix}"):
        read_rows(path)


@SUFFIXES
def test_a_missing_file_is_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"packed{suffix}"
    with pytest.raises(PackingError, match="existing file") as raised:
        read_rows(path)
    assert (raised.value.argument, raised.value.value) == ("path", str(path))


@SUFFIXES
def test_foreign_bytes_are_refused(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"packed{suffix}").write_bytes(b"these are no packed rows" * 10)
    with pytest.raises(PackingError, match="whole file of packed rows"):
        read_rows(tmp_path / f"packed{suffix}")


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ({"input_ids": [[5]]}, "must include loss_mask, seq_start_id"),
        (
            {"input_ids": [5], "loss_mask": [[0]], "seq_start_id": [[0]]},
            "input_ids = 'int64': must be a column of lists",
        ),
        ({"input_ids": [None], "loss_mask": [[0]], "seq_start_id": [[0]]}, "column of lists"),
        ({"input_ids": [[5, 6], None], "loss_mask": [[1, 0]] * 2, "seq_start_id": [[0]] * 2}, "must hold input_ids"),
        ({"input_ids": [["a"]], "loss_mask": [[0]], "seq_start_id": [[0]]}, "list of integers"),
        (
            {"input_ids": [[5, None]], "loss_mask": [[1, 0]], "seq_start_id": [[0]]},
            "input_ids = 'float64': must be a list of integers",
        ),
        ({"input_ids": [[5, 6]], "loss_mask": [[2, 0]], "seq_start_id": [[0]]}, "only 0 and 1"),
        ({"input_ids": [[5, 6]], "loss_mask": [[1]], "seq_start_id": [[0]]}, "shape of the tokens"),
    ],
)
def test_a_parquet_file_with_other_content_is_refused(
    tmp_path: Path, table: dict[str, list[object]], reason: str
) -> None:
    pq.write_table(pa.table(table), tmp_path / "packed.parquet")
    with pytest.raises(PackingError, match=reason):
        read_rows(tmp_path / "packed.parquet")


def test_a_parquet_file_without_rows_is_refused(tmp_path: Path) -> None:
    path, lists = tmp_path / "packed.parquet", pa.array([], type=pa.list_(pa.int64()))
    pq.write_table(pa.table({"input_ids": lists, "loss_mask": lists, "seq_start_id": lists}), path)
    with pytest.raises(PackingError, match="at least one row") as raised:
        read_rows(path)
    assert (raised.value.argument, raised.value.value) == ("path", str(path))


# Rows that must not be written


@pytest.mark.parametrize(
    ("tokens", "mask", "starts", "valid", "argument"),
    [
        ([5, 6], [1], [0], None, "loss_mask"),
        ([5, 6], [1, 0], [], None, "starts"),
        ([5, 6], [1, 0], [1], None, "starts"),
        ([5, 6], [1, 0], [0, 0], None, "starts"),  # S42
        ([5, 6, 7], [1, 0, 0], [0, 2, 1], None, "starts"),
        ([5, 6], [1, 0], [0, 2], None, "starts"),
        ([], [], [0], None, "starts"),
        ([5, 6], [1, 0], [0], [1, 1], "valid"),
        ([5, 6], [1, 0], [0], [3], "valid"),
        ([5, 6], [1, 0], [0], [-1], "valid"),
    ],
)
def test_an_inconsistent_row_is_refused(
    tokens: list[int], mask: list[int], starts: list[int], valid: list[int] | None, argument: str
) -> None:
    bad = PackedRow(
        np.array(tokens, dtype=np.int64),
        np.array(mask, dtype=np.bool_),
        np.array(starts, dtype=np.int64),
        None if valid is None else np.array(valid),
    )
    with pytest.raises(PackingError) as raised:
        check_row(bad)
    assert raised.value.argument == argument


def test_a_document_may_be_of_one_token_that_is_not_real() -> None:
    """One of two documents is nothing but padding."""
    check_row(PackedRow(np.array([5, 0]), np.zeros(2, dtype=np.bool_), np.array([0, 1]), np.array([1, 0])))


def test_a_document_is_stored_up_to_the_next_one() -> None:
    """Or to the end of its row, padding included."""
    lengths = stored_lengths(row())
    assert (lengths.tolist(), lengths.dtype) == ([4, 3], np.int64)


@SUFFIXES
def test_a_file_without_rows_is_not_written(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(PackingError, match="at least one row"):
        write_rows([], tmp_path / f"packed{suffix}")


def test_the_suffix_must_name_a_known_format(tmp_path: Path) -> None:
    path = tmp_path / "packed.bin"
    for refuse in (partial(write_rows, [row()]), read_rows):
        with pytest.raises(PackingError, match=r"\.parquet or \.npy") as raised:
            refuse(path)
        assert (raised.value.argument, raised.value.value) == ("path", str(path))


def test_the_folder_must_exist(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "packed.npy"
    with pytest.raises(PackingError, match="existing folder") as raised:
        write_rows([row()], path)
    assert (raised.value.argument, raised.value.value) == ("path", str(path))


def test_a_write_that_fails_keeps_the_old_file_and_leaves_nothing_behind(tmp_path: Path) -> None:
    def fail(file: IO[bytes]) -> None:
        file.write(b"half")
        raise OSError("disk full")

    path = tmp_path / "packed.npy"
    path.write_bytes(b"old")
    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, fail)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_of_no_row_group_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "packed.parquet"
    with pytest.raises(PackingError, match="groups = 0: must hold at least one row"):
        write_atomically(path, lambda file: write_groups([], file))
    assert list(tmp_path.iterdir()) == []

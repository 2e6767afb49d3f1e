"""Packed rows on disk: Parquet, and the pickled NumPy format of older Megatron Bridge releases.

The columns are those of ``reference_impl.parquet_rows``; an ``.npy`` file is an object array of dicts with the same
keys.
"""

from __future__ import annotations

import importlib
import os
import pickle
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, cast, override

import numpy as np

from reference_impl.documents import IntArray, PackedRow
from reference_impl.errors import PackingError
from reference_impl.parquet_rows import REQUIRED, VALID_LENGTH, groups_of, read_columns, write_groups

_NUMPY_RECONSTRUCTION = {
    (module, name)
    for package in ("numpy.core", "numpy._core")
    for module, name in (
        (f"{package}.multiarray", "_reconstruct"),
        (f"{package}.multiarray", "scalar"),
        (f"{package}.numeric", "_frombuffer"),
    )
} | {("numpy", "ndarray"), ("numpy", "dtype")}
_PLAIN_BUILTINS = {
    ("builtins", name) for name in ("bool", "int", "float", "complex", "str", "bytes", "list", "tuple", "dict", "set")
}
ADMITTED_GLOBALS = frozenset(_NUMPY_RECONSTRUCTION | _PLAIN_BUILTINS)
"""What a pickle inside a ``.npy`` file may name: enough to rebuild arrays and plain values, nothing that runs code."""


# Rows ----------------------------------------------------------------------------------------------------------------


def stored_lengths(row: PackedRow) -> IntArray:
    """Stored tokens of each document of a row (n,) int64, alignment padding included."""
    return np.diff(np.append(row.starts, row.tokens.size)).astype(np.int64)


def check_row(row: PackedRow) -> None:
    """Raise unless a row is consistent.

    Raises:
        PackingError: the loss mask has another length than the tokens, the starts do not begin at 0 or leave a
            document without a token, or the valid lengths do not fit the documents.
    """
    if row.loss_mask.shape != row.tokens.shape:
        raise PackingError("loss_mask", row.loss_mask.shape, f"must have the shape of the tokens, {row.tokens.shape}")
    if row.starts.size == 0 or row.starts[0] != 0:
        raise PackingError("starts", row.starts.tolist(), "must begin at 0")
    lengths = stored_lengths(row)
    if np.any(lengths < 1):
        raise PackingError("starts", row.starts.tolist(), f"must give each document one of {row.tokens.size} tokens")
    if row.valid is None:
        return
    if row.valid.shape != row.starts.shape:
        raise PackingError("valid", row.valid.tolist(), f"must have one entry for each of {row.starts.size} documents")
    if np.any((row.valid < 0) | (row.valid > lengths)):
        raise PackingError("valid", row.valid.tolist(), f"must be from 0 to the stored lengths {lengths.tolist()}")


# Files ---------------------------------------------------------------------------------------------------------------


def write_rows(rows: Sequence[PackedRow], path: Path) -> None:
    """Write packed rows; the suffix of ``path`` (``.parquet`` or ``.npy``) chooses the format.

    The file appears under its name only when it is complete.

    Raises:
        PackingError: there are no rows, one is inconsistent, or the suffix is unknown.
    """
    write = _FORMATS[_suffix(path)][0]
    if not rows:
        raise PackingError("rows", rows, "must hold at least one row")
    for row in rows:
        check_row(row)
    write_atomically(path, lambda file: write(rows, file))


def read_rows(path: Path) -> tuple[PackedRow, ...]:
    """Read packed rows.

    Raises:
        PackingError: the file is missing, foreign, half-written, empty or inconsistent; the message names path and
            reason.
    """
    read = _FORMATS[_suffix(path)][1]
    if not path.is_file():
        raise PackingError("path", str(path), "must be an existing file")
    try:
        rows = read(path)
        for row in rows:
            check_row(row)
    except Exception as error:
        raise PackingError("path", str(path), f"must be a whole file of packed rows: {error}") from error
    if not rows:
        raise PackingError("path", str(path), "must hold at least one row")
    return rows


def _suffix(path: Path) -> str:
    if path.suffix not in _FORMATS:
        raise PackingError("path", str(path), f"must end in {' or '.join(_FORMATS)}")
    return path.suffix


def write_atomically(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file under a temporary name beside ``path``, then rename it.

    Readers see the old file or the whole new one, also when the process dies in between.

    Args:
        path: where the file will be; replaced if it exists.
        write: writes the content.

    Raises:
        PackingError: the folder does not exist.
    """
    if not path.parent.is_dir():
        raise PackingError("path", str(path), "must be in an existing folder")
    # The process id keeps ranks that write the same file out of each other's way.
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            write(file)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


# NumPy ---------------------------------------------------------------------------------------------------------------


def _write_npy(rows: Sequence[PackedRow], file: IO[bytes]) -> None:
    entries = np.empty(len(rows), dtype=np.object_)
    for index, row in enumerate(rows):
        entries[index] = {
            "input_ids": row.tokens.tolist(),
            "loss_mask": row.loss_mask.astype(np.int64).tolist(),
            "seq_start_id": row.starts.tolist(),
        }
        if row.valid is not None:
            entries[index][VALID_LENGTH] = row.valid.tolist()
    np.save(file, entries, allow_pickle=True)


def _read_npy(path: Path) -> tuple[PackedRow, ...]:
    # The header is read apart from the content, because np.load would unpickle whatever the file names.
    npy_format: Any = importlib.import_module("numpy.lib.format")
    with path.open("rb") as file:
        is_first_version = npy_format.read_magic(file) == (1, 0)
        read_header = npy_format.read_array_header_1_0 if is_first_version else npy_format.read_array_header_2_0
        dtype = read_header(file)[2]
        if dtype != np.object_:
            raise PackingError("dtype", str(dtype), "must be object: one dict per row")
        entries: Any = _RestrictedUnpickler(file).load()
    if getattr(entries, "ndim", None) != 1:
        raise PackingError("content", type(entries).__name__, "must be a one-dimensional array of dicts")
    return tuple(_row(entry) for entry in entries)


class _RestrictedUnpickler(pickle.Unpickler):
    """Unpickles arrays and plain values and refuses every other global: a packed file must not run code."""

    @override
    def find_class(self, module_name: str, global_name: str, /) -> Any:
        if (module_name, global_name) not in ADMITTED_GLOBALS:
            raise PackingError("pickle", f"{module_name}.{global_name}", "is a global that packed rows never need")
        return super().find_class(module_name, global_name)


# Both formats --------------------------------------------------------------------------------------------------------


def _row(content: object) -> PackedRow:
    """One row from the arrays or lists of its columns."""
    if not isinstance(content, Mapping):
        raise PackingError("row", type(content).__name__, "must be a dict")
    entry = cast("Mapping[str, object]", content)
    for name in REQUIRED:
        if entry.get(name) is None:
            raise PackingError("row", list(entry), f"must hold {name}")
    loss_mask = _integers(entry, "loss_mask")
    if np.any((loss_mask != 0) & (loss_mask != 1)):
        raise PackingError("loss_mask", loss_mask.tolist(), "must hold only 0 and 1")
    return PackedRow(
        tokens=_integers(entry, "input_ids"),
        loss_mask=loss_mask.astype(np.bool_),
        starts=_integers(entry, "seq_start_id"),
        valid=None if entry.get(VALID_LENGTH) is None else _integers(entry, VALID_LENGTH),
    )


def _integers(entry: Mapping[str, object], name: str) -> IntArray:
    """One list of a row as int64; truth values count as 0 and 1, as older releases wrote them."""
    values = np.asarray(entry[name])
    if values.ndim != 1 or (values.size and values.dtype.kind not in "biu"):
        raise PackingError(name, str(values.dtype), "must be a list of integers")
    return values.astype(np.int64)


def _write_parquet(rows: Sequence[PackedRow], file: IO[bytes]) -> None:
    write_groups(groups_of(rows), file)


def _read_parquet(path: Path) -> tuple[PackedRow, ...]:
    return tuple(_row(content) for content in read_columns(path))


_FORMATS = {".parquet": (_write_parquet, _read_parquet), ".npy": (_write_npy, _read_npy)}

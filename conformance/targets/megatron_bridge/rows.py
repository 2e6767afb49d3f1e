"""Packed rows in Bridge's stored form, and its packed files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np

from conformance.targets.megatron_bridge.places import Part, has, part, place
from conformance.targets.megatron_bridge.tokenizer import TokenIds
from conformance.targets.modules import bridge
from reference_impl.documents import PackedRow
from reference_impl.errors import NotSupported

PARQUET = (".parquet", ".pq")


def to_record(row: PackedRow) -> dict[str, list[Any]]:
    """A row as ``fill_packing_strategy`` returns it; Bridge's files have no place for ``valid``."""
    return {
        "input_ids": row.tokens.tolist(),
        "loss_mask": row.loss_mask.tolist(),
        "seq_start_id": row.starts.tolist(),
    }


def from_record(record: Mapping[str, Any]) -> PackedRow:
    """A row from Bridge's stored form."""
    return _row(record["input_ids"], record["loss_mask"], record["seq_start_id"])


def has_parquet() -> bool:
    """Whether this release packs into Parquet; the oldest ones only know NumPy's format."""
    return has(Part.WRITE_PARQUET)


def write_rows(rows: Sequence[PackedRow], path: Path) -> None:
    """Write a packed file as preparation does: Parquet by suffix, else NumPy's pickled format."""
    records = [to_record(row) for row in rows]
    if path.name.lower().endswith(PARQUET):
        part(Part.WRITE_PARQUET)(records, path)
    else:
        np.save(path, records)  # pyright: ignore[reportArgumentType] - a list of dicts, as Bridge passes it


def read_rows(path: Path) -> tuple[PackedRow, ...]:
    """Rows of a packed file as the packed dataset of its suffix loads them."""
    dataset = open_dataset(path, TokenIds(0, 0), {})
    samples = (dataset[index] for index in range(len(dataset)))
    return tuple(_row(item["input_ids"], item["loss_mask"], item["seq_boundaries"][:-1]) for item in samples)


def open_dataset(path: Path, tokenizer: object, settings: Mapping[str, Any]) -> Any:
    """The packed dataset that Bridge's own factory chooses for a path.

    Args:
        path: the packed file.
        tokenizer: gives the special tokens.
        settings: under the names that they have up to Bridge 0.5.
    """
    if path.name.lower().endswith(PARQUET) and not has_parquet():
        raise NotSupported("this release of Megatron Bridge has no Parquet")
    opened = part(Part.OPEN_DATASET)
    if place(Part.OPEN_DATASET).endswith(":create_sft_dataset"):
        return opened(path, tokenizer, **settings)
    rest = dict(settings)
    with _without_waiting():
        dataset = _build(path, tokenizer, rest)
    if dataset is None:
        raise FileNotFoundError(f"Megatron Bridge finds no dataset at {path}")
    return dataset


def _build(path: Path, tokenizer: object, rest: dict[str, Any]) -> Any:
    """``build_gpt_sft_split``, which answers a missing file with a warning and None."""
    width = rest.pop("seq_length", 2048)
    return part(Part.OPEN_DATASET)(
        path,
        tokenizer=tokenizer,
        seq_length=width,
        packed_sequence_size=width,
        memmap_workers=1,
        seed=rest.pop("seed", 1234),
        pad_cu_seqlens=rest.pop("pad_cu_seqlens", False),
        pad_seq_to_mult=rest.pop("pad_seq_to_mult", 1),
        pack_metadata_path=rest.pop("pack_metadata_file_path", None),
        dataset_kwargs=rest,
    )


def _at_once(_seconds: float) -> None:
    """Sleeps not at all."""


@contextmanager
def _without_waiting() -> Iterator[None]:
    """Let ten attempts to see a file on a network file system follow each other at once; they take 45 s otherwise."""
    with mock.patch.object(bridge("data.packing.paths"), "time", SimpleNamespace(sleep=_at_once)):
        yield


def _row(tokens: Any, loss_mask: Any, starts: Any) -> PackedRow:
    return PackedRow(
        tokens=np.array(tokens, dtype=np.int64),
        loss_mask=np.array(loss_mask, dtype=np.bool_),
        starts=np.array(starts, dtype=np.int64),
    )

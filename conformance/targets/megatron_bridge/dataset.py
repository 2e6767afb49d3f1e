"""Packed datasets and their collation (``Part.OPEN_DATASET``)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from conformance.targets.megatron_bridge.rows import open_dataset
from conformance.targets.megatron_bridge.tokenizer import TokenIds
from reference_impl.batches import AnyArray, CollateSpec, Layout, ThdBatch
from reference_impl.documents import IntArray

BOUNDARIES = (
    *("cu_seqlens", "cu_seqlens_argmin", "cu_seqlens_unpadded", "cu_seqlens_unpadded_argmin", "max_seqlen"),
    *("cu_seqlens_q", "cu_seqlens_q_padded", "cu_seqlens_kv", "cu_seqlens_kv_padded", "max_seqlen_q", "max_seqlen_kv"),
)
"""Keys of a batch that say where its documents lie: up to Bridge 0.5, and from 0.6 on."""


def epoch_order(file: Path, n_samples: int, seed: int) -> IntArray:
    """The sample mapping of the dataset on ``file``."""
    dataset = open_dataset(file, TokenIds(0, 0), {"max_num_samples": n_samples, "seed": seed})
    return np.array(dataset.samples_mapping, dtype=np.int64)


def collate(file: Path, indices: Sequence[int], spec: CollateSpec, folder: Path) -> tuple[ThdBatch, ...]:
    """``collate_fn`` of the dataset on ``file``, its rows apart; ``folder`` takes the metadata file."""
    dataset = open_dataset(file, TokenIds(spec.eos_id, spec.eos_id), _settings(spec, folder / "metadata.jsonl"))
    batch = dataset.collate_fn([dataset[index] for index in indices])
    arrays = {key: value.numpy() for key, value in batch.items() if hasattr(value, "numpy")}
    return tuple(_one_row(arrays, row, spec) for row in range(len(indices)))


def _settings(spec: CollateSpec, metadata_file: Path) -> dict[str, Any]:
    if spec.metadata:
        metadata_file.write_text(json.dumps([asdict(entry) for entry in spec.metadata]))
    return {
        "seq_length": spec.width,
        "pad_to_max_length": spec.pad_to_width,
        "pad_seq_length_to_mult": spec.width_multiple,
        "pad_seq_to_mult": spec.document_multiple,
        "answer_only_loss": spec.answer_only_loss,
        "pad_cu_seqlens": spec.static_boundaries,
        "pack_metadata_file_path": str(metadata_file) if spec.metadata else None,
        "max_num_samples": spec.n_samples,
        "seed": spec.seed,
    }


def _one_row(arrays: Mapping[str, AnyArray], row: int, spec: CollateSpec) -> ThdBatch:
    raw = {key: arrays[key][row : row + 1] for key in BOUNDARIES if key in arrays}
    padded, valid = _boundaries(raw)
    if spec.static_boundaries or ("cu_seqlens_q" in raw and len(arrays["tokens"]) > 1):
        padded, valid = _without_filler(padded, valid)
    return ThdBatch(
        tokens=arrays["tokens"][row].astype(np.int64),
        labels=arrays["labels"][row].astype(np.int64),
        loss_mask=arrays["loss_mask"][row].astype(np.float64),
        position_ids=arrays["position_ids"][row].astype(np.int64),
        layout=Layout(valid=valid, padded=padded),
        max_seqlen=int(raw["max_seqlen_q" if "max_seqlen_q" in raw else "max_seqlen"].reshape(-1)[0]),
        raw=raw,
    )


def _boundaries(raw: Mapping[str, AnyArray]) -> tuple[IntArray, IntArray]:
    """Slots and valid lengths, under the names of either generation; one array means that nothing is padded."""
    slots, valid = ("cu_seqlens", "cu_seqlens_unpadded")
    if "cu_seqlens_q" in raw:
        slots, valid = ("cu_seqlens_q_padded", "cu_seqlens_q")
    present = [name for name in (slots, valid) if name in raw]
    return _true_entries(raw[present[0]]), _true_entries(raw[present[-1]])


def _true_entries(boundaries: AnyArray) -> IntArray:
    """Boundaries without their sentinels."""
    flat = boundaries.reshape(-1).astype(np.int64)
    return flat[flat >= 0]


def _without_filler(padded: IntArray, valid: IntArray) -> tuple[IntArray, IntArray]:
    """Boundaries without the zero-length segments that only give them a common number."""
    entries = int(np.argmax(padded == padded[-1])) + 1
    return padded[:entries], valid[:entries]

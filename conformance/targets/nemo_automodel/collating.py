"""``pack_dataset``, ``packed_sequence_thd_collater``, ``process_input_for_thd``: the documents of a row to a stream.

``pack_dataset`` fills packs in order, so that the documents of a row that fits are one pack again, each padded for
context parallelism.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from conformance.targets.modules import flat_integers
from conformance.targets.nemo_automodel import importing
from conformance.targets.nemo_automodel.samples import sample_of, targets
from reference_impl.batches import CollateSpec, Layout, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.errors import Inexpressible, NotSupported
from reference_impl.in_batch import IGNORED_LABEL


def collate(rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
    """One batch of one pack per index."""
    if spec.static_boundaries or spec.n_samples is not None or any(index < 0 for index in indices):
        raise NotSupported("NeMo AutoModel has no static boundaries, no mapping of an epoch and no fillers")
    if any(len(row.tokens) - len(row.starts) > spec.width for row in rows):
        raise NotSupported("NeMo AutoModel begins another pack where a row is full")
    if not spec.pad_to_width:
        raise Inexpressible("NeMo AutoModel pads every pack to the width")
    return tuple(_collated(rows[index], spec) for index in indices)


def _alignment(spec: CollateSpec) -> dict[str, int]:
    """The setting that pads every document to the multiple."""
    multiple = spec.document_multiple or 1
    if multiple % 2 == 0 and multiple > 2:
        return {"cp_size": multiple // 2}
    if spec.width % multiple:
        raise Inexpressible("NeMo AutoModel asks that the width is a multiple of what documents are padded to")
    return {"pad_to_multiple_of": multiple}


def _collated(row: PackedRow, spec: CollateSpec) -> ThdBatch:
    packs = importing.part(importing.SEQUENTIAL).pack_dataset(
        _samples(row, spec),
        split=None,
        packed_sequence_size=spec.width,
        padding_idx=spec.eos_id,
        drop_long_samples=False,
        **_alignment(spec),
    )
    if len(packs) != 1:
        raise NotSupported("NeMo AutoModel packs the documents of this row apart")
    batch = importing.part(importing.COLLATERS).packed_sequence_thd_collater(packs.to_list())
    return _stream(importing.part(importing.THD).process_input_for_thd(batch), spec.eos_id)


def _samples(row: PackedRow, spec: CollateSpec) -> list[dict[str, Any]]:
    """The documents of a row without their padding, which NeMo AutoModel adds."""
    samples: list[dict[str, Any]] = []
    spans = list(pairwise([*row.starts.tolist(), len(row.tokens)]))
    for number, (start, end) in enumerate(spans):
        real = end - start if row.valid is None else int(row.valid[number])
        if (row.tokens[start + real : end] != spec.eos_id).any():
            raise NotSupported("NeMo AutoModel pads documents and packs with one id")
        trained = row.loss_mask[start : start + real - 1].astype(np.bool_) if spec.answer_only_loss else None
        samples.append(sample_of(row.tokens[start : start + real], trained))
    return samples


def _stream(found: Mapping[str, Any], eos_id: int) -> ThdBatch:
    tokens, labels, positions = (flat_integers(found[name]) for name in ("input_ids", "labels", "position_ids"))
    valid = flat_integers(found["cu_seqlens"])
    padded = flat_integers(found["cu_seqlens_padded"]) if "cu_seqlens_padded" in found else valid
    ends = padded[1:][padded[1:] > 0] - 1
    return ThdBatch(
        tokens=tokens,
        labels=targets(tokens, labels, ends, eos_id),
        loss_mask=(labels != IGNORED_LABEL).astype(np.float64),
        position_ids=positions,
        layout=Layout(valid=valid, padded=padded),
        max_seqlen=int(found["max_seqlen"]),
        raw={name: value.numpy() for name, value in found.items() if name.startswith("cu_seqlens")},
    )

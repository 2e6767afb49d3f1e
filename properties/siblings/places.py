"""Where operators are applied: results and arguments of the operations on documents, rows and boundaries, by path."""

from __future__ import annotations

from properties.siblings.operators import ABSENT, BINS, BOUNDARIES, FLAG, ITEMS, MASK, NUMBER, POSITIONS, SLOTS, Change
from reference_impl.interface import Op

Places = dict[str, dict[str, Change]]
"""Operators by path; "" is the whole value."""

_BATCH: Places = {
    "tokens": SLOTS,
    "labels": SLOTS | ABSENT,
    "loss_mask": MASK | ABSENT,
    "position_ids": POSITIONS,
    "layout.valid": BOUNDARIES,
    "layout.padded": BOUNDARIES,
    "max_seqlen": NUMBER,
    "raw.cu_seqlens": BOUNDARIES,
    "raw.cu_seqlens_unpadded": BOUNDARIES,
    "raw.max_seqlen": NUMBER,
}
_STREAM: Places = {name: _BATCH[name] for name in ("tokens", "labels", "loss_mask", "position_ids")}
_SLICE: Places = {name: operators for name, operators in _BATCH.items() if not name.startswith("raw.")}
LAYOUT: Places = {"valid": BOUNDARIES, "padded": BOUNDARIES}
_ROW: Places = {"tokens": SLOTS, "loss_mask": MASK, "starts": BOUNDARIES, "valid": SLOTS}
PARAMS: Places = {
    "cu_seqlens_q": BOUNDARIES,
    "cu_seqlens_kv": BOUNDARIES,
    "cu_seqlens_q_padded": BOUNDARIES | ABSENT,
    "cu_seqlens_kv_padded": BOUNDARIES | ABSENT,
    "max_seqlen_q": NUMBER,
    "max_seqlen_kv": NUMBER,
    "seq_idx": SLOTS | ABSENT,
}
_METADATA: Places = {
    "dataset_max_seqlen": NUMBER,
    "max_samples_per_bin": NUMBER,
    "packing_factor": NUMBER,
    "packing_efficiency": NUMBER,
    "pack_size": NUMBER,
    "min_packed_seqlen": NUMBER,
}


def under(prefix: str, places: Places) -> Places:
    """The same places inside of another one."""
    return {f"{prefix}.{name}": operators for name, operators in places.items()}


RESULTS: dict[Op, Places] = {
    Op.ASSIGN_BINS: {"": BINS, "*": ITEMS, "last": ITEMS, "first": ITEMS},
    Op.HISTOGRAM: {"counts": SLOTS, "skipped": NUMBER},
    Op.PACKING_STRATEGY: {"bins": ITEMS, "bins.*": ITEMS} | under("metadata", _METADATA),
    Op.FILL: {"": ITEMS} | under("*", _ROW) | under("last", _ROW),
    Op.PAD_DOCUMENT: {"tokens": SLOTS, "loss_mask": MASK | ABSENT, "valid": NUMBER | ABSENT, "answer_start": NUMBER},
    Op.PACK_DOCUMENTS: {"rows": ITEMS, "ledger": ITEMS} | under("rows.*", _ROW) | under("metadata", _METADATA),
    Op.READ_ROWS: {"": ITEMS} | under("*", _ROW),
    Op.EPOCH_ORDER: {"": SLOTS},
    Op.COLLATE: {"": ITEMS} | under("*", _BATCH) | under("last", _STREAM),
    Op.SEQUENCE_PARAMS: PARAMS,
    Op.PACK_IN_BATCH: _BATCH,
    Op.VLM_STEP: _BATCH,
    Op.PAD_LAYOUT: LAYOUT,
    Op.PARTITION: {"": SLOTS},
    Op.SLICE_BATCH: _SLICE,
    Op.GATHER: _STREAM,
    Op.LOCAL_BOUNDARIES: {"": BOUNDARIES},
    Op.POSITION_IDS: {"": POSITIONS},
    Op.PADDING_MASK: {"": MASK},
    Op.SEQUENCE_INDEX: {"": SLOTS},
    Op.MERGE_LAYOUTS: LAYOUT,
}

_SWAPPED: dict[str, Change] = {"valid as padded": lambda layout: type(layout)(layout.valid, layout.valid)}
LAYOUT_ARGUMENT: Places = {"": _SWAPPED, "valid": BOUNDARIES, "padded": BOUNDARIES}
RANK: dict[str, Change] = {"one more": lambda rank: rank + 1, "zero": lambda _: 0}

_SEED: dict[str, Change] = {"ignored": lambda _: 0}
_PADDED_BATCH: Places = {"tokens": {}, "padding_mask": {"inverted": lambda mask: ~mask}, "labels": {}}

ARGUMENTS: dict[Op, dict[int, Places]] = {
    Op.ASSIGN_BINS: {0: {"": SLOTS}, 1: {"": NUMBER}, 3: {"": _SEED}},
    Op.HISTOGRAM: {0: {"": SLOTS}, 1: {"": NUMBER}},
    Op.PACKING_STRATEGY: {0: {"": SLOTS}, 1: {"": NUMBER}, 3: {"": _SEED}},
    Op.FILL: {0: {"": ITEMS, "*.tokens": SLOTS}, 1: {"": ITEMS}, 2: {"": NUMBER}, 4: {"": _SEED}},
    Op.PAD_DOCUMENT: {0: {"tokens": SLOTS, "loss_mask": MASK}, 1: {"": NUMBER}, 2: {"": NUMBER}, 3: {"": NUMBER}},
    Op.PACK_DOCUMENTS: {0: {"": ITEMS}, 1: {"capacity": NUMBER, "max_length": NUMBER, "pad_id": NUMBER}},
    Op.PREPARE: {0: {"": ITEMS}, 1: {"capacity": NUMBER, "pad_id": NUMBER}},
    Op.PREPARE_TEXT: {0: {"": {name: ITEMS[name] for name in ("last dropped", "first dropped")}}},
    Op.WRITE_ROWS: {0: {"": ITEMS} | under("*", _ROW)},
    Op.EPOCH_ORDER: {0: {"": NUMBER}, 1: {"": NUMBER}, 2: {"": _SEED}},
    Op.COLLATE: {0: {"": ITEMS}, 1: {"": ITEMS}, 2: {"width": NUMBER, "eos_id": NUMBER, "answer_only_loss": FLAG}},
    Op.SEQUENCE_PARAMS: {0: {"argmin": NUMBER, "unpadded_argmin": NUMBER, "max_seqlen": NUMBER}},
    Op.PACK_IN_BATCH: {0: _PADDED_BATCH, 1: {"": NUMBER}, 2: {"": NUMBER}},
    Op.VLM_STEP: {0: _PADDED_BATCH, 1: {"context": NUMBER, "tensor": NUMBER, "sequence_parallel": FLAG}},
    Op.PAD_LAYOUT: {0: {"": SLOTS}, 1: {"": NUMBER}},
    Op.PARTITION: {0: LAYOUT_ARGUMENT, 1: {"": NUMBER}, 2: {"": RANK}},
    Op.SLICE_BATCH: {0: {"labels": SLOTS, "loss_mask": MASK}, 1: {"": NUMBER}, 2: {"": RANK}},
    Op.GATHER: {0: {"": ITEMS}},
    Op.LOCAL_BOUNDARIES: {0: LAYOUT_ARGUMENT, 1: {"": NUMBER}, 2: {"": RANK}},
    Op.POSITION_IDS: {0: LAYOUT_ARGUMENT},
    Op.PADDING_MASK: {0: LAYOUT_ARGUMENT},
    Op.SEQUENCE_INDEX: {0: LAYOUT_ARGUMENT, 1: {"": NUMBER}},
    Op.MERGE_LAYOUTS: {0: {"": ITEMS, "*": _SWAPPED, "last.valid": BOUNDARIES}},
}
"""By the number of the argument, ``self`` not counted."""

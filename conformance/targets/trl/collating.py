"""``DataCollatorForLanguageModeling`` with ``padding_free``: rows to streams.

TRL's labels are not shifted: the model shifts them, so that slot i is trained on ``labels[i + 1]``. A document of L
stored tokens has L slots, and the last of them must have no target. That slot is left out of the stream that is
handed back, after its missing target was checked:

    TRL       input_ids   5  6  0 | 7  8  0          labels  -100  6  0 | -100  8  0
    stream    tokens      5  6    | 7  8             labels     6  0    |    8  0
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from conformance.targets.modules import flat_integers
from properties.claims import holds
from reference_impl.batches import CollateSpec, Layout, ThdBatch
from reference_impl.documents import IntArray, PackedRow
from reference_impl.errors import Inexpressible, NotSupported
from reference_impl.in_batch import IGNORED_LABEL

LARGEST = 2**20
"""Slots of a stream; the collator makes tensors of all of them."""


def collator() -> Any:
    """The class ``DataCollatorForLanguageModeling``."""
    return importlib.import_module("trl.trainer.sft_trainer").DataCollatorForLanguageModeling


def collate(rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
    """One padding-free batch of one row per index."""
    _check(rows, indices, spec)
    return tuple(_collated(rows[index], spec) for index in indices)


def _check(rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> None:
    """Leave what TRL's collator has no setting for."""
    if spec.document_multiple not in {None, 1}:
        raise NotSupported("TRL knows of no alignment padding behind a document")
    if spec.static_boundaries or spec.n_samples is not None or any(index < 0 for index in indices):
        raise NotSupported("TRL's collator has no static boundaries, no mapping of an epoch and no fillers")
    if any(_slots(row) > spec.width for row in rows):
        raise NotSupported("TRL's collator is told no width that a row may not exceed")
    if not spec.pad_to_width and (spec.width_multiple != 1 or len({_slots(row) for row in rows}) > 1):
        raise Inexpressible("TRL pads a stream to a multiple of its own slots, and to no other stream's")


def _slots(row: PackedRow) -> int:
    return len(row.tokens) - len(row.starts)


def _lengths(row: PackedRow) -> IntArray:
    return np.diff([*row.starts.tolist(), len(row.tokens)])


def _collated(row: PackedRow, spec: CollateSpec) -> ThdBatch:
    example: dict[str, Any] = {"input_ids": row.tokens.tolist(), "seq_lengths": _lengths(row).tolist()}
    if spec.answer_only_loss:  # without labels, TRL takes every token for one
        targets = np.insert(row.loss_mask[:-1], 0, np.False_)
        example["labels"] = np.where(targets, row.tokens, IGNORED_LABEL).tolist()
    # One multiple of all slots is the width; every document has a slot more than at run time.
    wide = spec.width + len(row.starts) if spec.pad_to_width else None
    found = stream([example], spec.eos_id, wide)
    return _runtime(found, documents=len(row.tokens))


def stream(examples: list[dict[str, Any]], pad_id: int, multiple: int | None) -> Mapping[str, Any]:
    """What the collator makes of examples."""
    if sum(len(example["input_ids"]) for example in examples) > LARGEST:
        raise NotSupported(f"no more than {LARGEST} slots are put to TRL's collator")
    make = collator()(pad_token_id=pad_id, padding_free=True, pad_to_multiple_of=multiple)
    return make(examples)


def boundaries(found: Mapping[str, Any]) -> tuple[IntArray, int]:
    """Boundaries (n + 1,) and longest length that attention gets: TRL's own, or what transformers makes of a batch."""
    if "cu_seq_lens_q" in found:
        return flat_integers(found["cu_seq_lens_q"]), int(found["max_length_q"])
    attention = importlib.import_module("transformers.modeling_flash_attention_utils")
    if "attention_mask" in found:
        _, bounds, longest = attention._get_unpad_data(found["attention_mask"])  # noqa: SLF001
    else:
        (bounds, _), (longest, _) = attention.prepare_fa_kwargs_from_position_ids(found["position_ids"])
    return flat_integers(bounds), int(longest)


def _runtime(found: Mapping[str, Any], documents: int) -> ThdBatch:
    """A stream of TRL without the last slot of each document; the first ``documents`` slots are not the tail."""
    tokens, labels, positions = (flat_integers(found[name]) for name in ("input_ids", "labels", "position_ids"))
    bounds, longest = boundaries(found)
    last = bounds[1:][bounds[1:] <= documents] - 1
    target = np.append(labels[1:], IGNORED_LABEL)
    holds((target[last] == IGNORED_LABEL).all(), "the last token of a document has no target", got=labels.tolist())
    kept = np.ones(len(tokens), dtype=np.bool_)
    kept[last] = False
    # An ignored label has no value: the token that the stream itself holds next stands in.
    target = np.where(target == IGNORED_LABEL, np.append(tokens[1:], tokens[-1:]), target)
    weights = (np.append(labels[1:], IGNORED_LABEL) != IGNORED_LABEL).astype(np.float64)
    in_front = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(kept, dtype=np.int64)])
    padded = in_front[bounds]
    return ThdBatch(
        tokens=tokens[kept],
        labels=target[kept],
        loss_mask=weights[kept],
        position_ids=positions[kept],
        layout=Layout(valid=padded, padded=padded),
        # The longest document has lost a slot with all others; a wrong number stays as wrong as it is.
        max_seqlen=int(np.diff(padded).max()) + longest - int(np.diff(bounds).max()),
        raw={name: value.numpy() for name, value in found.items() if hasattr(value, "numpy")},
    )

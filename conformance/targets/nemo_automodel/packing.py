"""``greedy_knapsack`` and ``neat_pack_dataset``: lengths to bins, documents to packs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from conformance.targets.nemo_automodel import importing
from conformance.targets.nemo_automodel.samples import sample_of, targets
from reference_impl.documents import Algorithm, Bins, Document, IntArray, Overlong, PackedDataset, PackedRow, PackSpec
from reference_impl.errors import Inexpressible, NotSupported
from reference_impl.in_batch import IGNORED_LABEL
from reference_impl.one_document import trainable

OWN = Algorithm.SHORTEST_PACK_FIRST
"""What the knapsack is where no two lengths are equal: the longest first, each into the emptiest bin.

Of equal lengths, shortest pack first (arXiv 2107.02027) opens a bin for each once one does not fit; the knapsack does
not, and has no other name here.
"""


def assign_bins(lengths: IntArray, capacity: int, algorithm: Algorithm) -> Bins:
    """Lengths by bin."""
    if algorithm.value.startswith("first_fit"):  # laws draw these together, and never with the own one
        raise NotSupported(f"NeMo AutoModel has no {algorithm.value}")
    if algorithm != OWN:
        raise Inexpressible(f"NeMo AutoModel has no {algorithm.value}")
    if len(np.unique(lengths)) < len(lengths):
        raise Inexpressible("NeMo AutoModel's knapsack has no name where lengths are equal")
    if capacity < int(lengths.max(initial=0)):
        raise NotSupported("NeMo AutoModel drops or refuses over-long samples before it assigns the others")
    bins = importing.part(importing.KNAPSACK).greedy_knapsack(lengths.tolist(), capacity)
    return tuple(tuple(int(lengths[sample]) for sample in held) for held in bins)


def pack_documents(documents: Sequence[Document], spec: PackSpec) -> PackedDataset:
    """Packs of documents in runtime form."""
    if spec.pad_multiple not in {None, 1}:
        raise NotSupported("NeMo AutoModel's knapsack pads no document for itself")
    if spec.max_length < spec.capacity:
        raise NotSupported("NeMo AutoModel allows documents as long as a pack")
    if spec.algorithm != OWN:
        raise Inexpressible(f"NeMo AutoModel has no {spec.algorithm.value}")
    overlong = any(len(document.tokens) - 1 > spec.capacity for document in documents)
    if overlong and spec.overlong not in {Overlong.DROP, Overlong.REJECT}:
        raise NotSupported(f"NeMo AutoModel cannot be asked to {spec.overlong.value} over-long documents")
    packed = importing.part(importing.KNAPSACK).neat_pack_dataset(
        {"train": [_sample(document) for document in documents]},
        "train",
        spec.capacity,
        padding_idx=spec.pad_id,
        drop_long_samples=spec.overlong == Overlong.DROP,
    )
    rows = tuple(_row(pack, spec.eos_id) for pack in packed.to_list())
    return PackedDataset(rows, metadata=None, ledger=None)


def _sample(document: Document) -> dict[str, Any]:
    wanted = trainable(document)
    return sample_of(document.tokens, None if wanted is None else wanted[1:])


def _row(pack: Mapping[str, Any], eos_id: int) -> PackedRow:
    """A pack as a packed file holds it: behind the inputs of every document stands its last target."""
    tokens, labels, number = (
        np.array(pack[name], dtype=np.int64) for name in ("input_ids", "labels", "attention_mask")
    )
    real = number > 0
    tokens, labels, number = tokens[real], labels[real], number[real]
    ends = np.flatnonzero(np.diff(number, append=0))
    follow = targets(tokens, labels, ends, eos_id)
    behind = ends + 1
    stored = np.diff(behind, prepend=0) + 1
    return PackedRow(
        tokens=np.insert(tokens, behind, follow[ends]),
        loss_mask=np.insert(labels != IGNORED_LABEL, behind, np.False_),
        starts=np.cumsum(stored) - stored,
    )

"""``Trl``: the operations that TRL's packing function and collator offer."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from typing import Any, ClassVar, override

import numpy as np

from conformance.isolation import quiet
from conformance.targets.modules import flat_integers
from conformance.targets.package import Package
from conformance.targets.trl import collating, packing
from reference_impl.batches import CollateSpec, Layout, ThdBatch
from reference_impl.documents import Algorithm, Bins, Document, IntArray, Overlong, PackedDataset, PackedRow, PackSpec
from reference_impl.errors import Inexpressible, NotSupported
from reference_impl.interface import Op
from reference_impl.policies import Boundaries, PadPositions, Policies

DECLARED = Policies(
    overlong=(Overlong.TRUNCATE, Overlong.SPLIT),
    pad_positions=PadPositions.ZERO,
    boundaries=Boundaries.SLOTS,
)
"""What TRL declares: packing truncates, or splits when asked to; padding has position 0."""


class Trl(Package):
    """The TRL on this machine's import path.

    Raises:
        ModuleNotFoundError: it is not installed, or something that it imports is not.
    """

    name: ClassVar[str] = "trl"
    beside: ClassVar[tuple[str, ...]] = ("transformers", "datasets")
    policies = DECLARED

    def __init__(self) -> None:
        os.environ.setdefault("HF_HUB_OFFLINE", "1")  # packing fetches nothing, and nothing shall be fetched
        with quiet():
            importlib.import_module("datasets").disable_progress_bars()
            self._positions: Any = getattr(collating.collator(), "get_position_ids_from_packed_seq_lengths", None)

    @override
    def operations(self) -> frozenset[Op]:
        """Positions from lengths came with 0.22, boundaries in the batch with 1.15."""
        found = super().operations()
        return found if self._positions else found - {Op.POSITION_IDS}

    @override
    @quiet()
    def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
        del seed  # nothing is drawn
        return packing.assign_bins(lengths, capacity, algorithm)

    @override
    @quiet()
    def pack_documents(self, documents: Sequence[Document], spec: PackSpec) -> PackedDataset:
        return packing.pack_documents(documents, spec)

    @override
    @quiet()
    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        return collating.collate(rows, indices, spec)

    @override
    @quiet()
    def position_ids(self, layout: Layout) -> IntArray:
        # Lengths in slots: TRL knows of no padding inside a stream, which counts as the document's own here.
        return flat_integers(self._positions([np.diff(layout.padded).tolist()])[0])

    @override
    @quiet()
    def sequence_index(self, layout: Layout, total: int) -> IntArray:
        slots = int(layout.padded[-1])
        if total < slots:
            raise NotSupported("TRL numbers all slots of its own stream")
        found = collating.stream([_example(layout)], pad_id=0, multiple=total or None)
        if "seq_idx" not in found:
            raise NotSupported("this release of TRL numbers no slots")
        return flat_integers(found["seq_idx"])

    @override
    @quiet()
    def merge_layouts(self, layouts: Sequence[Layout]) -> Layout:
        if any((layout.valid != layout.padded).any() for layout in layouts):
            raise Inexpressible("TRL knows of no alignment padding behind a document")
        merged, _ = collating.boundaries(collating.stream([_example(each) for each in layouts], 0, None))
        return Layout(valid=merged, padded=merged)


def _example(layout: Layout) -> dict[str, Any]:
    """An example with the segments of a layout, in slots."""
    slots = int(layout.padded[-1])
    if slots > collating.LARGEST:
        raise NotSupported(f"no more than {collating.LARGEST} slots are put to TRL's collator")
    return {"input_ids": [1] * slots, "seq_lengths": np.diff(layout.padded).tolist()}

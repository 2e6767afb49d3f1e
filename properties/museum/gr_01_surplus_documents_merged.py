"""GR-01: a row with more documents than the metadata allow is collated all the same, its surplus borders left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import CollateSpec, Layout, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "GR-01",
    area="offline pack (segments per bin)",
    suffered="kernels corrupted packs that held more documents than they allow",
    source="google/grain #1000 (specification S27)",
)
class SurplusDocumentsMerged(ReferenceImplementation):
    """A row with more documents than the metadata allow is collated all the same, its surplus borders left out."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        if not spec.static_boundaries or not spec.metadata:
            return super().collate(rows, indices, spec)
        fullest = max(len(row.starts) for row in rows)
        allowed = max(entry.max_samples_per_bin for entry in spec.metadata)
        roomy = tuple(replace(entry, max_samples_per_bin=max(fullest, allowed)) for entry in spec.metadata)
        batches = super().collate(rows, indices, replace(spec, metadata=roomy))
        return tuple(replace(batch, layout=_first_segments(batch.layout, allowed)) for batch in batches)


def _first_segments(layout: Layout, allowed: int) -> Layout:
    if len(layout.padded) <= allowed + 2:
        return layout
    kept = max(1, allowed + 1)
    return Layout(np.append(layout.valid[:kept], layout.valid[-1]), np.append(layout.padded[:kept], layout.padded[-1]))

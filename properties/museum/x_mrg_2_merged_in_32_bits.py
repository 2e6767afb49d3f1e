"""X-MRG-2: boundaries are merged in 32 bits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import Layout
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-MRG-2",
    area="metadata (MBS>1)",
    suffered="long streams had negative boundaries",
    source="own mutation",
)
class MergedIn32Bits(ReferenceImplementation):
    """Merged boundaries wrap around at 32 bits."""

    def merge_layouts(self, layouts: Sequence[Layout]) -> Layout:
        merged = super().merge_layouts(layouts)
        return Layout(merged.valid, merged.padded.astype(np.int32).astype(np.int64))

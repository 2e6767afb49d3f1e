"""TR-03: padding has position 0."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from properties.segments import is_padding
from reference_impl.batches import PaddedBatch, ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "TR-03",
    area="padding / position ids",
    suffered="each slot of padding was a document of its own",
    source="TRL #3996, LLaMA-Factory #10737, axolotl #2739",
)
class PaddingAtPositionZero(ReferenceImplementation):
    """Alignment padding has position 0 throughout."""

    def pack_in_batch(self, batch: PaddedBatch, multiple: int, pad_id: int) -> ThdBatch:
        packed = super().pack_in_batch(batch, multiple, pad_id)
        return replace(packed, position_ids=np.where(is_padding(packed.layout), 0, packed.position_ids))

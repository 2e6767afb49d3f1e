"""NM-09: arrays inside a dictionary are not tracked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.batches import ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "NM-09",
    area="CP slicing / gradients",
    suffered="what belonged to one array of the batch did not come back",
    source="NeMo #12366",
)
class LabelsNotTracked(ReferenceImplementation):
    """Tokens come back, and the other arrays, which the batch holds in a dictionary, do not."""

    def gather(self, parts: Sequence[ThdBatch]) -> ThdBatch:
        return replace(super().gather(parts), labels=None, loss_mask=None)

"""ML-15: gradients are multiplied by the ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.ranks import LossPart, ReducedLoss
from reference_impl.reference import ReferenceImplementation


@bug(
    "ML-15",
    area="per-token loss",
    suffered="gradients were as many times too large as there were context ranks",
    source="Megatron-LM MR !2756",
)
class TimesTheRanks(ReferenceImplementation):
    """Gradients are multiplied by the number of ranks, to cancel a division that does not happen."""

    def reduce_loss(self, parts: Sequence[LossPart]) -> ReducedLoss:
        right = super().reduce_loss(parts)
        return replace(right, scales=right.scales * len(parts))

"""ML-16: gradients are averaged and divided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.ranks import LossPart, ReducedLoss
from reference_impl.reference import ReferenceImplementation


@bug(
    "ML-16",
    area="per-token loss",
    suffered="gradients were divided by the number of ranks once more",
    source="Megatron-LM MR !1923, average_in_collective",
)
class AveragedInCollective(ReferenceImplementation):
    """Gradients are averaged over the ranks, and then divided by the number of all tokens."""

    def reduce_loss(self, parts: Sequence[LossPart]) -> ReducedLoss:
        right = super().reduce_loss(parts)
        return replace(right, scales=right.scales / len(parts))

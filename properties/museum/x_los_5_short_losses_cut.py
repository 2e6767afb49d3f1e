"""X-LOS-5: surplus weights are dropped."""

from __future__ import annotations

from collections.abc import Sequence

from properties.museum.bug import bug
from reference_impl.ranks import LossPart, ReducedLoss
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-LOS-5",
    area="per-token loss",
    suffered="weights of another batch decided what was trained",
    source="own mutation",
)
class ShortLossesCut(ReferenceImplementation):
    """Weights behind the last loss are dropped."""

    def reduce_loss(self, parts: Sequence[LossPart]) -> ReducedLoss:
        return super().reduce_loss([LossPart(part.losses, part.weights[: part.losses.size]) for part in parts])

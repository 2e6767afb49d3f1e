"""X-SCH-5: replicas are forgotten."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-SCH-5",
    area="data-parallel balance",
    suffered="some replicas hung in a collective",
    source="own mutation",
)
class ReplicasForgotten(ReferenceImplementation):
    """Packs are filled in order, whatever the number of replicas."""

    def balance(self, lengths: IntArray, limit: int, context: int, replicas: int) -> tuple[tuple[int, ...], ...]:
        return super().balance(lengths, limit, context, 1)

"""X-SCH-7: packs exceed their capacity."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-SCH-7",
    area="data-parallel balance",
    suffered="ranks ran out of memory now and then",
    source="own mutation",
)
class OneTokenTooMany(ReferenceImplementation):
    """A pack may exceed its capacity by one token."""

    def balance(self, lengths: IntArray, limit: int, context: int, replicas: int) -> tuple[tuple[int, ...], ...]:
        super().balance(lengths, limit, context, replicas)
        return super().balance(lengths, limit * context + 1, 1, replicas)

"""X-SCH-4: CP sizes are rounded down."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import IntArray
from reference_impl.ranks import Group
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-SCH-4",
    area="hybrid CP",
    suffered="ranks ran out of memory on long samples",
    source="own mutation",
)
class SizeRoundedDown(ReferenceImplementation):
    """CP sizes are rounded down, so that ranks get up to twice the limit."""

    def schedule(self, lengths: IntArray, ranks: int, limit: int) -> tuple[Group, ...]:
        return super().schedule(lengths, ranks, 2 * limit)

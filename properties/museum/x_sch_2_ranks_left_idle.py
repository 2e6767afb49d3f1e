"""X-SCH-2: ranks are left idle."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import IntArray
from reference_impl.ranks import Assignment, Group
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-SCH-2",
    area="hybrid CP",
    suffered="ranks waited, or hung in a collective",
    source="own mutation",
)
class RanksLeftIdle(ReferenceImplementation):
    """A single sample is never widened: it takes the first rank and leaves the others idle."""

    def schedule(self, lengths: IntArray, ranks: int, limit: int) -> tuple[Group, ...]:
        groups = super().schedule(lengths, ranks, limit)
        return tuple(
            (Assignment(group[0].sample, (0,), int(lengths[group[0].sample])),)
            if len(group) == 1 and lengths[group[0].sample] <= limit
            else group
            for group in groups
        )

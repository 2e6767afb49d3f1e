"""X-SCH-8: the ranks of a widened sample are descending."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.documents import IntArray
from reference_impl.ranks import Group
from reference_impl.reference import ReferenceImplementation
from reference_impl.schedule import padded_for


@bug(
    "X-SCH-8",
    area="hybrid CP",
    suffered="ranks of one group numbered it differently, and took each other's chunks",
    source="own mutation",
)
class RanksDescending(ReferenceImplementation):
    """A sample that was widened to fill a group lists the ranks that it was given last first."""

    def schedule(self, lengths: IntArray, ranks: int, limit: int) -> tuple[Group, ...]:
        return tuple(
            tuple(
                replace(at, ranks=at.ranks[::-1])
                if padded_for(int(lengths[at.sample]), half := len(at.ranks) // 2 or 1) <= limit * half
                else at
                for at in group
            )
            for group in super().schedule(lengths, ranks, limit)
        )

"""X-SCH-3: CP sizes are no powers of two."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import IntArray
from reference_impl.ranks import Assignment, Group
from reference_impl.reference import ReferenceImplementation
from reference_impl.schedule import padded_for


@bug(
    "X-SCH-3",
    area="hybrid CP",
    suffered="process groups of that size did not exist",
    source="own mutation",
)
class SizesOfAnyNumber(ReferenceImplementation):
    """A sample alone on all ranks gets only as many as its length needs, and leaves one rank out."""

    def schedule(self, lengths: IntArray, ranks: int, limit: int) -> tuple[Group, ...]:
        groups = super().schedule(lengths, ranks, limit)
        return tuple(
            (Assignment(at.sample, at.ranks[:-1], padded_for(int(lengths[at.sample]), len(at.ranks) - 1)),)
            if len(group) == 1 and len((at := group[0]).ranks) > 2
            else group
            for group in groups
        )

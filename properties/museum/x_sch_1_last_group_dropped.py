"""X-SCH-1: the last group is dropped."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import IntArray
from reference_impl.ranks import Group
from reference_impl.reference import ReferenceImplementation
from reference_impl.schedule import padded_for


@bug(
    "X-SCH-1",
    area="hybrid CP",
    suffered="samples at the end of a batch were never trained",
    source="own mutation",
)
class LastGroupDropped(ReferenceImplementation):
    """A last group that does not fill all ranks is dropped."""

    def schedule(self, lengths: IntArray, ranks: int, limit: int) -> tuple[Group, ...]:
        groups = super().schedule(lengths, ranks, limit)
        needed = sum(
            next(size for size in (1, 2, 4, 8, 16) if padded_for(int(lengths[at.sample]), size) <= limit * size)
            for at in groups[-1]
        )
        return groups if needed == ranks else groups[:-1]

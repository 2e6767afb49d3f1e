"""B26-limit: the limit is stretched."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import IntArray
from reference_impl.ranks import Group
from reference_impl.reference import ReferenceImplementation


@bug(
    "B26-limit",
    area="hybrid CP",
    suffered="ranks ran out of memory",
    source="Megatron-LM, read in its code",
)
class LimitStretched(ReferenceImplementation):
    """A sample that fits nowhere gets all ranks, whatever their limit."""

    def schedule(self, lengths: IntArray, ranks: int, limit: int) -> tuple[Group, ...]:
        longest = int(lengths.max(initial=0))
        return super().schedule(lengths, ranks, max(limit, -(-longest // (2 * ranks)) * 2 if ranks > 1 else longest))

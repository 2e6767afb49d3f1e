"""B26-ranks: any number of ranks is accepted."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import IntArray
from reference_impl.ranks import Group
from reference_impl.reference import ReferenceImplementation


@bug(
    "B26-ranks",
    area="hybrid CP",
    suffered="groups of ranks that do not exist were asked for",
    source="Megatron-LM, read in its code",
)
class AnyNumberOfRanks(ReferenceImplementation):
    """Any number of ranks is accepted, and rounded up to a power of two."""

    def schedule(self, lengths: IntArray, ranks: int, limit: int) -> tuple[Group, ...]:
        return super().schedule(lengths, 1 << (ranks - 1).bit_length(), limit)

"""B25: samples are not padded for their CP size."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.documents import IntArray
from reference_impl.ranks import Group
from reference_impl.reference import ReferenceImplementation


@bug(
    "B25",
    area="hybrid CP",
    suffered="samples could not be cut into chunks, and tokens were lost",
    source="Megatron-LM, read in its code",
)
class PaddedForFewerRanks(ReferenceImplementation):
    """Samples are not padded for the CP size that widening gives them."""

    def schedule(self, lengths: IntArray, ranks: int, limit: int) -> tuple[Group, ...]:
        groups = super().schedule(lengths, ranks, limit)
        return tuple(tuple(replace(at, slots=int(lengths[at.sample])) for at in group) for group in groups)

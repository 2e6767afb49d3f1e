"""B26: the logarithm of a length of 0."""

from __future__ import annotations

import math

from properties.museum.bug import bug
from reference_impl.documents import IntArray
from reference_impl.ranks import Group
from reference_impl.reference import ReferenceImplementation


@bug(
    "B26",
    area="hybrid CP",
    suffered="a sample that was masked to nothing ended the run",
    source="Megatron-LM, read in its code",
)
class LogarithmOfNothing(ReferenceImplementation):
    """The CP size of a sample is worked out from the logarithm of its length."""

    def schedule(self, lengths: IntArray, ranks: int, limit: int) -> tuple[Group, ...]:
        for length in lengths.tolist():
            math.log2(length / limit)
        return super().schedule(lengths, ranks, limit)

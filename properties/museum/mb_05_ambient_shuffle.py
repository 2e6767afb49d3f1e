"""MB-05: the shuffle of the lengths uses the global random state, not the seed."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from reference_impl.documents import Algorithm, Bins, IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "MB-05",
    area="offline pack / determinism",
    suffered="two hosts packed the same data differently for one configuration",
    source="Megatron-Bridge #4891 (specification S8)",
)
class AmbientShuffle(ReferenceImplementation):
    """The shuffle of the lengths uses the global random state, not the seed."""

    def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
        if algorithm != Algorithm.FIRST_FIT_SHUFFLE:
            return super().assign_bins(lengths, capacity, algorithm, seed)
        shuffled = np.random.permutation(lengths)  # noqa: NPY002 - the global state is the bug
        return super().assign_bins(shuffled, capacity, Algorithm.FIRST_FIT, seed)

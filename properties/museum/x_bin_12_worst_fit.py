"""X-BIN-12: best fit takes the emptiest bin with room."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import Algorithm, Bins, IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-BIN-12",
    area="offline pack",
    suffered="short documents filled the bins that long ones could have used",
    source="own mutation",
)
class WorstFit(ReferenceImplementation):
    """Best fit takes the emptiest bin with room."""

    def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
        bins = super().assign_bins(lengths, capacity, algorithm, seed)
        if algorithm != Algorithm.BEST_FIT_DECREASING:
            return bins
        emptiest_first: list[list[int]] = []
        for length in sorted(lengths.tolist(), reverse=True):
            emptiest = min(emptiest_first, key=sum, default=[capacity])
            if sum(emptiest) + length <= capacity:
                emptiest.append(length)
            else:
                emptiest_first.append([length])
        return tuple(tuple(held) for held in emptiest_first)

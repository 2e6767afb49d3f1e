"""X-EPO-6: only the first epoch is shuffled, the others repeat it."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-EPO-6",
    area="dataset",
    suffered="every epoch repeated the order of the first",
    source="own mutation",
)
class FirstEpochRepeated(ReferenceImplementation):
    """Only the first epoch is shuffled, the others repeat it."""

    def epoch_order(self, n_rows: int, n_samples: int, seed: int) -> IntArray:
        super().epoch_order(n_rows, n_samples, seed)
        return np.resize(super().epoch_order(n_rows, n_rows, seed), n_samples)

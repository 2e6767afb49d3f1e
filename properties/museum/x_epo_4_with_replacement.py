"""X-EPO-4: every sample draws any row."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-EPO-4",
    area="dataset",
    suffered="some rows were trained on more often than others",
    source="own mutation",
)
class WithReplacement(ReferenceImplementation):
    """Every sample draws any row."""

    def epoch_order(self, n_rows: int, n_samples: int, seed: int) -> IntArray:
        super().epoch_order(n_rows, n_samples, seed)
        return np.random.default_rng(seed).integers(0, n_rows, n_samples)

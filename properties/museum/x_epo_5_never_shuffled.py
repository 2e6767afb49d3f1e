"""X-EPO-5: epochs visit the rows in the order of the file."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-EPO-5",
    area="dataset",
    suffered="every run saw the rows in the order of the file",
    source="own mutation",
)
class NeverShuffled(ReferenceImplementation):
    """Epochs visit the rows in the order of the file."""

    def epoch_order(self, n_rows: int, n_samples: int, seed: int) -> IntArray:
        return np.arange(len(super().epoch_order(n_rows, n_samples, seed))) % n_rows

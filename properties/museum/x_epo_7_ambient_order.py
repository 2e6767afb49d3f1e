"""X-EPO-7: epochs are shuffled with the global random state."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-EPO-7",
    area="determinism",
    suffered="ranks read different rows",
    source="own mutation",
)
class AmbientOrder(ReferenceImplementation):
    """Epochs are shuffled with the global random state."""

    def epoch_order(self, n_rows: int, n_samples: int, seed: int) -> IntArray:
        ambient = int(np.random.randint(2**31))  # noqa: NPY002 - the global state is the bug
        return super().epoch_order(n_rows, n_samples, ambient)

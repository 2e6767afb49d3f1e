"""S43: the global random state is seeded for the epoch mapping and never restored."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "S43",
    area="determinism",
    suffered="opening a data set changed what the rest of the program drew",
    source="Megatron-Bridge GPTSFTPackedDataset, all versions (specification S43)",
)
class GlobalStateReseeded(ReferenceImplementation):
    """The global random state is seeded for the epoch mapping and never restored."""

    def epoch_order(self, n_rows: int, n_samples: int, seed: int) -> IntArray:
        np.random.seed(seed)  # noqa: NPY002 - the global state is the bug
        return super().epoch_order(n_rows, n_samples, seed)

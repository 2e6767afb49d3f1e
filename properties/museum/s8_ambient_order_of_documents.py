"""S8: which document of a length takes which place is drawn from the global random state."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from properties.museum.bug import bug
from reference_impl.documents import Bins, Document, PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "S8",
    area="offline pack / determinism",
    suffered="two hosts packed the same data differently for one configuration",
    source="Megatron-Bridge fill_packing_strategy up to 0.5.1 (specification S8)",
)
class AmbientOrderOfDocuments(ReferenceImplementation):
    """Which document of a length takes which place is drawn from the global random state."""

    def fill(
        self, documents: Sequence[Document], bins: Bins, capacity: int, pad_id: int, seed: int
    ) -> tuple[PackedRow, ...]:
        ambient = int(np.random.randint(2**31))  # noqa: NPY002 - the global state is the bug
        return super().fill(documents, bins, capacity, pad_id, ambient)

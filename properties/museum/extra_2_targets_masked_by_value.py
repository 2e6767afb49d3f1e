"""extra-2: targets that equal the pad id are not trained on; with padding by EOS that is every EOS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.documents import Bins, Document, PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "extra-2",
    area="loss mask",
    suffered="the model never learned to stop",
    source="Megatron-LM SFTDataset (corpus section 4, extra-2)",
)
class TargetsMaskedByValue(ReferenceImplementation):
    """Targets that equal the pad id are not trained on; with padding by EOS that is every EOS."""

    def fill(
        self, documents: Sequence[Document], bins: Bins, capacity: int, pad_id: int, seed: int
    ) -> tuple[PackedRow, ...]:
        rows = super().fill(documents, bins, capacity, pad_id, seed)
        real = [np.append(row.tokens[1:], pad_id) != pad_id for row in rows]
        return tuple(replace(row, loss_mask=row.loss_mask & kept) for row, kept in zip(rows, real, strict=True))

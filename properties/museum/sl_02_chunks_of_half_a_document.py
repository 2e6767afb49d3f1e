"""SL-02: chunks are taken to be half of a document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "SL-02",
    area="CP slicing (gather)",
    suffered="tokens came back in another order",
    source="slime #770",
)
class ChunksOfHalfADocument(ReferenceImplementation):
    """Chunks are put back as if each were half of what a rank holds of a document, one rank after another."""

    def gather(self, parts: Sequence[ThdBatch]) -> ThdBatch:
        whole = super().gather(parts)
        ends = whole.layout.padded[1:-1] // len(parts)
        pieces = [np.split(part.tokens, ends) for part in parts]
        tokens = [piece for segment in zip(*pieces, strict=True) for piece in segment]
        return replace(whole, tokens=np.concatenate(tokens))

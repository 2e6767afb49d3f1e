"""X-EPO-2: a single row makes a single sample."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-EPO-2",
    area="dataset",
    suffered="a data set that packed into one row could not be trained on for several epochs",
    source="own mutation",
)
class SingleRowOnce(ReferenceImplementation):
    """A single row makes a single sample."""

    def epoch_order(self, n_rows: int, n_samples: int, seed: int) -> IntArray:
        order = super().epoch_order(n_rows, n_samples, seed)
        return order[:1] if n_rows == 1 else order

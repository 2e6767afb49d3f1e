"""X-EPO-1: an epoch that is not whole is left out, unless it is the only one."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-EPO-1",
    area="dataset",
    suffered="training stopped before its last samples",
    source="own mutation",
)
class LastEpochDropped(ReferenceImplementation):
    """An epoch that is not whole is left out, unless it is the only one."""

    def epoch_order(self, n_rows: int, n_samples: int, seed: int) -> IntArray:
        order = super().epoch_order(n_rows, n_samples, seed)
        return order[: max(n_samples // n_rows * n_rows, min(n_samples, n_rows))]

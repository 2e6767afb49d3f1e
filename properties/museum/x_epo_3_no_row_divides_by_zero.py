"""X-EPO-3: the number of epochs is computed with no rows."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-EPO-3",
    area="dataset",
    suffered="an empty packed file ended training with a ZeroDivisionError",
    source="Megatron-Bridge _build_samples_mapping, all versions (specification section 2.13)",
)
class NoRowDividesByZero(ReferenceImplementation):
    """The number of epochs is computed with no rows."""

    def epoch_order(self, n_rows: int, n_samples: int, seed: int) -> IntArray:
        if n_rows == 0:
            raise ZeroDivisionError("division by zero")
        return super().epoch_order(n_rows, n_samples, seed)

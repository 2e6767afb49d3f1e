"""MB-46: the epoch mapping is squeezed before it is cut, so that one row and one sample leave no axis to cut."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "MB-46",
    area="dataset+collate",
    suffered="a small data set that packed into one row ended training with an IndexError",
    source="Megatron-Bridge and NeMo packed data set, open (specification S18)",
)
class SingleRowEpoch(ReferenceImplementation):
    """The epoch mapping is squeezed before it is cut, so that one row and one sample leave no axis to cut."""

    def epoch_order(self, n_rows: int, n_samples: int, seed: int) -> IntArray:
        whole_epochs = -(-n_samples // max(n_rows, 1)) * n_rows
        return super().epoch_order(n_rows, whole_epochs, seed).squeeze()[:n_samples]

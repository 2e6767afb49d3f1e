"""S22: a row without a token vanishes although refusing it is declared."""

from __future__ import annotations

from typing import override

from properties.museum.bug import bug
from reference_impl import in_batch
from reference_impl.batches import PaddedBatch, ThdBatch
from reference_impl.policies import EmptyRow, Policies
from reference_impl.reference import ReferenceImplementation


@bug(
    "S22",
    area="in-batch",
    suffered="a row vanished while its images stayed, and every later image went to another document",
    source="bridge-packing S22",
)
class DeclaredRefusalNotKept(ReferenceImplementation):
    """The code leaves empty rows out; the documentation says that it refuses them."""

    policies = Policies(empty_row=EmptyRow.REFUSED)

    @override
    def pack_in_batch(self, batch: PaddedBatch, multiple: int, pad_id: int) -> ThdBatch:
        return in_batch.pack_in_batch(batch, multiple, pad_id, self.pad_layout)

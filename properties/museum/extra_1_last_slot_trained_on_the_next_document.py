"""extra-1: the last slot of each document has the first token of the next one as its label, and is trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from properties.museum.bug import bug
from properties.readings import labels_of, weights_of
from reference_impl.batches import CollateSpec, ThdBatch
from reference_impl.documents import PackedRow
from reference_impl.reference import ReferenceImplementation


@bug(
    "extra-1",
    area="dataset+collate",
    suffered="the end of each conversation was trained to begin the next one",
    source="Megatron-LM SFTDataset (corpus section 4, extra-1)",
)
class LastSlotTrainedOnTheNextDocument(ReferenceImplementation):
    """The last slot of each document has the first token of the next one as its label, and is trained on."""

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        batches = super().collate(rows, indices, spec)
        return tuple(_run_on(batch) for batch in batches)


def _run_on(batch: ThdBatch) -> ThdBatch:
    last = batch.layout.padded[1:-1] - 1
    labels, weights = labels_of(batch).copy(), weights_of(batch).copy()
    labels[last], weights[last] = batch.tokens[last + 1], 1
    return replace(batch, labels=labels, loss_mask=weights)

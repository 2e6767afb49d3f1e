"""X-INB-7: only the whole stream is padded."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.batches import Layout, PaddedBatch, ThdBatch
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-INB-7",
    area="in-batch",
    suffered="context parallelism could not cut the segments",
    source="own mutation",
)
class TotalPadded(ReferenceImplementation):
    """Only the whole stream is padded to a multiple; the last segment takes it all."""

    def pack_in_batch(self, batch: PaddedBatch, multiple: int, pad_id: int) -> ThdBatch:
        tight = super().pack_in_batch(batch, 1, pad_id)
        more = -tight.tokens.size % multiple
        padded = np.append(tight.layout.padded[:-1], tight.layout.padded[-1] + more)
        return replace(
            tight,
            tokens=np.append(tight.tokens, [pad_id] * more).astype(np.int64),
            labels=None if tight.labels is None else np.append(tight.labels, [-100] * more).astype(np.int64),
            loss_mask=None if tight.loss_mask is None else np.append(tight.loss_mask, [0.0] * more),
            position_ids=np.append(tight.position_ids, np.arange(more)),
            layout=Layout(tight.layout.valid, padded),
            max_seqlen=int(np.diff(padded).max(initial=0)),
        )

"""X-REC-3: decays are read one slot late."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.documents import IntArray
from reference_impl.ranks import RecurrenceInputs, RecurrenceResult
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-REC-3",
    area="linear attention",
    suffered="every state kept as much as the slot behind it was to keep",
    source="own mutation",
)
class DecaysOneLate(ReferenceImplementation):
    """Decays are read one slot late."""

    def recurrence(self, inputs: RecurrenceInputs, seq_idx: IntArray) -> RecurrenceResult:
        return super().recurrence(replace(inputs, decays=np.roll(inputs.decays, -1, axis=0)), seq_idx)

"""X-REC-2: state is reset at the next number only."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from reference_impl.documents import IntArray
from reference_impl.ranks import RecurrenceInputs, RecurrenceResult
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-REC-2",
    area="linear attention",
    suffered="state flowed across documents without tokens",
    source="own mutation",
)
class ResetAtTheNextNumber(ReferenceImplementation):
    """State is reset only where the index grows by exactly 1."""

    def recurrence(self, inputs: RecurrenceInputs, seq_idx: IntArray) -> RecurrenceResult:
        return super().recurrence(inputs, np.cumsum(np.diff(seq_idx, prepend=seq_idx[:1]) == 1))

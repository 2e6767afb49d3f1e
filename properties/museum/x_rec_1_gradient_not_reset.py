"""X-REC-1: the way back runs through documents."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from properties.museum.bug import bug
from reference_impl.documents import IntArray
from reference_impl.ranks import RecurrenceInputs, RecurrenceResult
from reference_impl.reference import ReferenceImplementation


@bug(
    "X-REC-1",
    area="linear attention",
    suffered="gradients of one document flowed into the one before it",
    source="own mutation",
)
class GradientNotReset(ReferenceImplementation):
    """The state is reset on the way forward, but not on the way back."""

    def recurrence(self, inputs: RecurrenceInputs, seq_idx: IntArray) -> RecurrenceResult:
        right = super().recurrence(inputs, seq_idx)
        through = super().recurrence(inputs, np.zeros_like(seq_idx))
        return replace(right, grad_values=through.grad_values)

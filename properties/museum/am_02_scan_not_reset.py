"""AM-02-scan: the recurrence runs through documents."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from reference_impl.documents import IntArray
from reference_impl.ranks import RecurrenceInputs, RecurrenceResult
from reference_impl.reference import ReferenceImplementation


@bug(
    "AM-02-scan",
    area="linear attention",
    suffered="state of one document flowed into the next",
    source="Automodel #2147, slime #1686, axolotl #3437",
)
class ScanNotReset(ReferenceImplementation):
    """The recurrence is called without boundaries."""

    def recurrence(self, inputs: RecurrenceInputs, seq_idx: IntArray) -> RecurrenceResult:
        return super().recurrence(inputs, np.zeros_like(seq_idx))

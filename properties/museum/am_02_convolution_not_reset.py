"""AM-02-convolution: the convolution runs through documents."""

from __future__ import annotations

import numpy as np

from properties.museum.bug import bug
from reference_impl.documents import IntArray
from reference_impl.ranks import RecurrenceInputs, RecurrenceResult
from reference_impl.reference import ReferenceImplementation


@bug(
    "AM-02-convolution",
    area="linear attention",
    suffered="the last inputs of one document were mixed into the first of the next",
    source="Automodel #2147, slime #1686, axolotl #3437",
)
class ConvolutionNotReset(ReferenceImplementation):
    """The short convolution is called without the index of documents."""

    def short_convolution(self, inputs: RecurrenceInputs, seq_idx: IntArray) -> RecurrenceResult:
        return super().short_convolution(inputs, np.zeros_like(seq_idx))

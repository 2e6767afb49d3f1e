"""Documents as samples of NeMo AutoModel, and back.

A sample is what a document is at run time. A document of tokens ``5 6 0``, trained on its last two:

    input_ids   5  6
    labels      6  0

An ignored label has no value, so that the token that the stream itself holds next stands in, or EOS at a border.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reference_impl.documents import BoolArray, IntArray
from reference_impl.in_batch import IGNORED_LABEL


def sample_of(tokens: IntArray, trained: BoolArray | None) -> dict[str, Any]:
    """The sample of stored tokens (L,); ``trained`` (L - 1,) says for each slot whether its target is trained on."""
    sample: dict[str, Any] = {"input_ids": tokens[:-1].tolist(), "labels": tokens[1:].tolist()}
    # A mask of no slot would be taken for no mask; there is nothing to mask then.
    return sample if trained is None else sample | {"loss_mask": trained.astype(np.int64).tolist()}


def targets(tokens: IntArray, labels: IntArray, ends: IntArray, eos_id: int) -> IntArray:
    """Labels (T,) with values in place of ignored ones; ``ends`` are slots whose successor is another segment's."""
    following = np.append(tokens[1:], eos_id)[: len(tokens)]
    following[ends] = eos_id
    return np.where(labels == IGNORED_LABEL, following, labels)

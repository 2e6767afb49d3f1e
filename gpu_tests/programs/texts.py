"""Documents to train on, and the four ways in which they become batches.

* in batch: rows of a padded batch, packed by the training step;
* offline: packed beforehand, with the stored loss masks;
* filled: the same, without padding documents first, which must be aligned already;
* whole loss: packed beforehand, every real slot weighs 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch

from gpu_tests.cases import Case
from reference_impl.batches import CollateSpec, PaddedBatch, ThdBatch
from reference_impl.documents import Algorithm, BoolArray, Document, IntArray, PackSpec
from reference_impl.interface import Implementation

Source = Literal["in batch", "offline", "filled", "whole loss"]

VOCABULARY = 12
"""Small, so that documents hold EOS and the pad id again and again."""
PAD_ID = 3
"""Also a token of the documents, so that nobody tells padding by it."""
EOS_ID = 5
"""The same of the end of sequence."""
PROMPT_SHARE = 0.7
"""The first part of a document with a mask of its own, which does not count in the loss; in one of the streams, what
follows lies beyond ``LONGEST``."""
FIRST_POSITION = 2
"""Of rows that the training step packs: some models do not count from 0."""
LONGEST = 40
"""Offline documents are cut to this runtime length, a multiple of 2W for W up to 4."""
ROW_MULTIPLES = 3
"""Rows of offline packs are this many times ``LONGEST`` wide."""


@dataclass(frozen=True, eq=False)
class Text:
    """One document of L inputs and labels.

    Attributes:
        stored: as a packed data set gets it, (L + 1,) tokens.
        weights: (L,) whether each label counts.
    """

    stored: Document
    weights: BoolArray

    @property
    def inputs(self) -> IntArray:
        """(L,) tokens that the model sees."""
        return self.stored.tokens[:-1]

    @property
    def labels(self) -> IntArray:
        """(L,) tokens that it should predict."""
        return self.stored.tokens[1:]


def texts_of(case: Case) -> list[Text]:
    """Documents of the lengths of a case; the empty ones have nothing to train on and are left out."""
    generator = torch.Generator().manual_seed(case.seed)
    lengths = [length for length in case.lengths if length]
    return [
        _text(torch.randint(VOCABULARY, (length + 1,), generator=generator).numpy(), number)
        for number, length in enumerate(lengths)
    ]


def _text(tokens: IntArray, number: int) -> Text:
    """In turn: a mask of its own, all of it an answer, no answer within it, an answer in its second half."""
    targets = np.arange(len(tokens))
    kind = (number + 3) % 4
    if kind == 0:
        mask = targets > PROMPT_SHARE * len(tokens)
        return Text(Document(tokens, loss_mask=mask), mask[1:])
    start = (0, len(tokens), len(tokens) // 2)[kind - 1]
    return Text(Document(tokens, answer_start=start), (targets >= start)[1:])


def alone(text: Text, source: Source) -> tuple[IntArray, IntArray, BoolArray, IntArray]:
    """Inputs, labels, weights and positions (L,) of a document as training on it alone would have them."""
    limit = LONGEST if source in {"offline", "whole loss"} else None
    weights = np.ones_like(text.weights) if source == "whole loss" else text.weights
    first = FIRST_POSITION if source == "in batch" else 0
    positions = first + np.arange(len(text.inputs))
    return text.inputs[:limit], text.labels[:limit], weights[:limit], positions[:limit]


def batches(implementation: Implementation, texts: Sequence[Text], source: Source, world: int) -> tuple[ThdBatch, ...]:
    """What an implementation makes of the documents; every segment can be cut for ``world`` ranks."""
    multiple = 2 * world if world > 1 else 1
    if source == "in batch":
        return (implementation.pack_in_batch(padded_batch(texts), multiple, PAD_ID),)
    width = ROW_MULTIPLES * LONGEST
    documents = [text.stored for text in texts]
    if source == "filled":
        lengths = np.array([len(text.inputs) for text in texts], dtype=np.int64)
        bins = implementation.assign_bins(lengths, width, Algorithm.FIRST_FIT, 0)
        rows = implementation.fill(documents, bins, width, PAD_ID, 0)
    else:
        spec = PackSpec(capacity=width, max_length=LONGEST, pad_multiple=multiple, pad_id=PAD_ID, eos_id=EOS_ID)
        rows = implementation.pack_documents(documents, spec).rows
    how = CollateSpec(width=width, document_multiple=multiple, eos_id=EOS_ID, answer_only_loss=source != "whole loss")
    # One row per batch: packs need micro batch size 1.
    return tuple(implementation.collate(rows, range(len(rows)), how))


def padded_batch(texts: Sequence[Text]) -> PaddedBatch:
    """The documents as rows, padded on the right; padding has nonsense everywhere but in the padding mask."""
    width = max(len(text.inputs) for text in texts)
    shape = (len(texts), width)
    tokens, labels = np.full((2, *shape), PAD_ID, dtype=np.int64)
    loss_mask, real = np.ones(shape), np.zeros(shape, dtype=np.bool_)
    for row, text in enumerate(texts):
        span = slice(0, len(text.inputs))
        tokens[row, span], labels[row, span] = text.inputs, text.labels
        loss_mask[row, span], real[row, span] = text.weights, True
    positions = np.tile(FIRST_POSITION + np.arange(width, dtype=np.int64), (len(texts), 1))
    return PaddedBatch(tokens, labels, loss_mask, positions, real)

"""Two pass targets: the VLM step packs a padded micro batch, on one and on several CP ranks."""

from __future__ import annotations

import numpy as np

from reference_impl.batches import PaddedBatch, Parallelism
from reference_impl.interface import Implementation

FIRST = (11, 12, 13, 14)
SECOND = (21, 22, 23, 24, 25, 26)
WIDTH = 9
"""Two rows of 4 and 6 real tokens, both padded to 9 columns with token 0."""


def micro_batch() -> PaddedBatch:
    """The two rows as a collator makes them; every label is its token + 1."""
    tokens = np.zeros((2, WIDTH), dtype=np.int64)
    real = np.zeros((2, WIDTH), dtype=np.bool_)
    for row, content in enumerate((FIRST, SECOND)):
        tokens[row, : len(content)] = content
        real[row, : len(content)] = True
    return PaddedBatch(
        tokens=tokens,
        labels=np.where(real, tokens + 1, -100),
        loss_mask=real.astype(np.float64),
        position_ids=np.tile(np.arange(WIDTH, dtype=np.int64), (2, 1)),
        padding_mask=real,
    )


def test_rows_are_joined_without_their_padding(implementation: Implementation) -> None:
    """On one CP rank the stream holds the real tokens only, a segment for each row."""
    packed = implementation.vlm_step(micro_batch(), Parallelism())
    assert packed.tokens.tolist() == [*FIRST, *SECOND]
    assert packed.layout.padded.tolist() == [0, 4, 10]
    assert packed.max_seqlen == 6
    assert packed.labels is not None
    assert packed.labels.tolist() == [token + 1 for token in (*FIRST, *SECOND)]
    assert packed.position_ids.tolist() == [0, 1, 2, 3, 0, 1, 2, 3, 4, 5]


def test_rows_are_padded_to_twice_the_cp_ranks(implementation: Implementation) -> None:
    """On two CP ranks each segment is padded to a multiple of 4, and pads are no targets."""
    packed = implementation.vlm_step(micro_batch(), Parallelism(context=2))
    assert packed.tokens.tolist() == [*FIRST, *SECOND, 0, 0]
    assert packed.layout.padded.tolist() == [0, 4, 12]
    assert packed.max_seqlen == 8
    assert packed.labels is not None
    assert packed.labels[-2:].tolist() == [-100, -100]
    assert packed.loss_mask is not None
    assert packed.loss_mask.tolist() == [1.0] * 10 + [0.0] * 2

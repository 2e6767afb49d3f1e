"""What ranks of a grid hold: a grid by hand, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from reference_impl.batches import Layout, ThdBatch
from reference_impl.errors import PackingError
from reference_impl.ranks import Grid, Place
from reference_impl.stages import metadata_of, place_batch

BATCH = ThdBatch(
    tokens=np.arange(8),
    labels=np.arange(10, 18),
    loss_mask=np.ones(8),
    position_ids=np.array([0, 1, 2, 3, 0, 1, 2, 3]),
    layout=Layout(np.array([0, 3, 7]), np.array([0, 4, 8])),
    max_seqlen=4,
)
GRID = Grid(pipeline=3, tensor=2, context=2)


def test_first_and_last_stage_hold_their_slice() -> None:
    first, last = place_batch(BATCH, GRID, Place(0, 1, 1)), place_batch(BATCH, GRID, Place(2, 0, 0))
    assert first.tokens is not None
    assert last.labels is not None
    assert first.tokens.tolist() == [1, 2, 5, 6]
    assert last.labels.tolist() == [10, 13, 14, 17]
    assert (first.labels, first.loss_mask, last.tokens, last.position_ids) == (None,) * 4


def test_middle_stages_hold_boundaries_and_nothing_else() -> None:
    """MB-20."""
    middle = place_batch(BATCH, GRID, Place(1, 1, 0))
    assert (middle.tokens, middle.labels, middle.loss_mask, middle.position_ids) == (None,) * 4
    assert middle.params is not None
    assert middle.params.cu_seqlens_q.tolist() == [0, 3, 7]
    assert middle.params.cu_seqlens_q_padded is not None
    assert middle.params.cu_seqlens_q_padded.tolist() == [0, 4, 8]
    assert middle.params.seq_idx is not None
    assert middle.params.seq_idx.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert middle.params.max_seqlen_q == 4


def test_the_step_is_told_where_the_boundaries_end() -> None:
    """Static boundaries may follow; who counts needs no search."""
    metadata = metadata_of(BATCH)
    assert (metadata.argmin, metadata.unpadded_argmin) == (3, 3)


def test_a_single_stage_holds_everything() -> None:
    only = place_batch(BATCH, Grid(), Place())
    assert only.tokens is not None
    assert only.labels is not None
    assert only.tokens.tolist() == list(range(8))


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (Place(3, 0, 0), "place.pipeline = 3: must be from 0 to 2"),
        (Place(0, 2, 0), "place.tensor = 2: must be from 0 to 1"),
        (Place(0, 0, -1), "place.context = -1: must be from 0 to 1"),
    ],
)
def test_places_outside_of_the_grid_are_refused(place: Place, message: str) -> None:
    with pytest.raises(PackingError, match=message):
        place_batch(BATCH, GRID, place)

"""STG: what every rank of a pipeline-, tensor- and context-parallel grid holds of a packed stream."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from properties.claims import holds, refuses, same
from properties.law import Activity, law
from properties.segments import THREE_SEGMENTS_IN_BATCH, owned_slots, segment_of, slots_per_segment
from properties.strategies.batches import thd_batches
from properties.strategies.layouts import layouts, worlds
from reference_impl.batches import SequenceParams, ThdBatch
from reference_impl.interface import Implementation, Op
from reference_impl.ranks import Grid, Place, PlacedBatch

NEEDS = {Op.PLACE_BATCH}
CONTEXT = worlds()


@cache
def grids() -> SearchStrategy[Grid]:
    """One to four pipeline stages, one or two tensor ranks, and the CP size drawn beside the batch."""
    return st.builds(Grid, st.sampled_from((3, 1, 2, 4)), st.sampled_from((2, 1)), CONTEXT)


def _middle_stage(grid: Grid, **_: object) -> bool:
    return grid.pipeline > 2


MIDDLE = Activity("a stage between the first and the last", _middle_stage, 0.25)


def places(grid: Grid) -> list[Place]:
    """All ranks of a grid, at most two of its context ranks."""
    context = sorted({0, grid.context - 1})
    return [Place(*at) for at in product(range(grid.pipeline), range(grid.tensor), context)]


def _params(placed: PlacedBatch, place: Place) -> SequenceParams:
    holds(placed.params is not None, f"the rank at {place} has the boundaries", got=placed.params)
    assert placed.params is not None
    return placed.params


@law(
    "STG-001",
    needs=NEEDS,
    harm="layers of middle stages attend across documents, and the model gets worse",
    sources=("P-STAGE", "MB-20", "ML-24", "PM-01"),
    activity=MIDDLE,
)
@given(batch=thd_batches(layouts(padding="none")), grid=grids())
def test_every_rank_has_the_boundaries(implementation: Implementation, batch: ThdBatch, grid: Grid) -> None:
    """On every pipeline, tensor and context rank, boundaries are those of the whole stream."""
    for place in places(grid):
        params = _params(implementation.place_batch(batch, grid, place), place)
        same(params.cu_seqlens_q, batch.layout.valid, f"the rank at {place} has the boundaries of queries")
        same(params.cu_seqlens_kv, batch.layout.valid, f"the rank at {place} has the boundaries of keys")


@law(
    "STG-001",
    facet="padded",
    needs=NEEDS,
    harm="some ranks take padding for tokens, and others do not",
    sources=("P-STAGE", "P-PADDED", "B22", "ML-30"),
    activity=MIDDLE,
)
@given(batch=thd_batches(layouts(padding="some")), grid=grids())
def test_every_rank_has_both_boundaries_of_padded_streams(
    implementation: Implementation, batch: ThdBatch, grid: Grid
) -> None:
    """Where segments are padded, every rank has both boundary arrays, whatever the CP size."""
    for place in places(grid):
        params = _params(implementation.place_batch(batch, grid, place), place)
        same(params.cu_seqlens_q, batch.layout.valid, f"the rank at {place} has valid lengths")
        same(params.cu_seqlens_kv, batch.layout.valid, f"the rank at {place} has valid lengths of keys")
        same(params.cu_seqlens_q_padded, batch.layout.padded, f"the rank at {place} has slots")
        same(params.cu_seqlens_kv_padded, batch.layout.padded, f"the rank at {place} has slots of keys")


@law(
    "STG-002",
    needs=NEEDS,
    harm="rotary tables or kernels of one stage are too short",
    sources=("P-STAGE", "P-MAXSEQ", "NM-06"),
    activity=MIDDLE,
)
@given(batch=thd_batches(), grid=grids())
def test_every_rank_has_the_longest_segment(implementation: Implementation, batch: ThdBatch, grid: Grid) -> None:
    """``max_seqlen`` is that of the whole stream on every rank, never divided by the CP size."""
    for place in places(grid):
        params = _params(implementation.place_batch(batch, grid, place), place)
        longest = int(slots_per_segment(batch.layout).max())
        same((params.max_seqlen_q, params.max_seqlen_kv), (longest, longest), f"the rank at {place} has max_seqlen")


@law(
    "STG-003",
    needs=NEEDS,
    harm="recurrent layers of middle stages carry state from one document into the next",
    sources=("P-STAGE", "I18", "MB-23", "B19"),
    activity=MIDDLE,
)
@given(batch=thd_batches(), grid=grids())
def test_every_rank_has_the_sequence_index(implementation: Implementation, batch: ThdBatch, grid: Grid) -> None:
    """``seq_idx`` covers the whole stream on every rank, also where there are no tokens to count."""
    for place in places(grid):
        params = _params(implementation.place_batch(batch, grid, place), place)
        same(params.seq_idx, segment_of(batch.layout), f"the rank at {place} has seq_idx")


@law(
    "STG-004",
    needs=NEEDS,
    harm="tensor ranks run different numbers of collectives, or mix different batches",
    sources=("P-STAGE", "ML-21", "ML-24", "B22"),
)
@given(batch=thd_batches(), grid=grids(), pipeline=st.integers(0, 3))
def test_tensor_ranks_hold_the_same(
    implementation: Implementation, batch: ThdBatch, grid: Grid, pipeline: int
) -> None:
    """Two tensor ranks of one stage hold the same, in values, shapes and types."""
    stage = pipeline % grid.pipeline
    pair = [
        implementation.place_batch(batch, Grid(grid.pipeline, 2, grid.context), Place(stage, tensor, 0))
        for tensor in (0, 1)
    ]
    for field in fields(PlacedBatch):
        if field.name != "params":
            same(
                getattr(pair[1], field.name), getattr(pair[0], field.name), f"tensor ranks hold the same {field.name}"
            )
    first, second = (_params(placed, Place(stage, tensor, 0)) for tensor, placed in enumerate(pair))
    for field in fields(SequenceParams):
        one, other = getattr(first, field.name), getattr(second, field.name)
        same(other, one, f"tensor ranks hold the same {field.name}")
        types = (getattr(other, "dtype", None), getattr(one, "dtype", None))
        same(types[0], types[1], f"tensor ranks hold {field.name} in one type")


@law(
    "STG-005",
    needs=NEEDS,
    harm="the first stage embeds tokens of another rank",
    sources=("P-STAGE", "I7", "B3b"),
    activity=THREE_SEGMENTS_IN_BATCH,
)
@given(batch=thd_batches(), grid=grids())
def test_first_stage_has_its_tokens(implementation: Implementation, batch: ThdBatch, grid: Grid) -> None:
    """The first stage has the tokens and positions of its context rank's slots."""
    for place in places(grid):
        if place.pipeline == 0:
            placed = implementation.place_batch(batch, grid, place)
            slots = owned_slots(batch.layout, grid.context, place.context)
            same(placed.tokens, batch.tokens[slots], "the first stage has its tokens")
            same(placed.position_ids, batch.position_ids[slots], "the first stage has its positions")


@law(
    "STG-006",
    needs=NEEDS,
    harm="the loss compares outputs with targets of another rank, or there is none",
    sources=("P-STAGE", "I7", "B3b"),
    activity=THREE_SEGMENTS_IN_BATCH,
)
@given(batch=thd_batches(), grid=grids())
def test_last_stage_has_its_labels(implementation: Implementation, batch: ThdBatch, grid: Grid) -> None:
    """The last stage has the labels and the loss mask of its context rank's slots."""
    for place in places(grid):
        if place.pipeline == grid.pipeline - 1:
            placed = implementation.place_batch(batch, grid, place)
            slots = owned_slots(batch.layout, grid.context, place.context)
            same(placed.labels, batch.labels[slots] if batch.labels is not None else None, "the last stage has labels")
            expected = batch.loss_mask[slots] if batch.loss_mask is not None else None
            same(placed.loss_mask, expected, "the last stage has its loss mask")


@law("STG-007", needs=NEEDS, harm="a process outside of the grid trains on another's tokens", sources=("P-STAGE",))
@given(batch=thd_batches(), grid=grids(), axis=st.sampled_from(("pipeline", "tensor", "context")))
def test_places_outside_of_the_grid_are_refused(
    implementation: Implementation, batch: ThdBatch, grid: Grid, axis: str
) -> None:
    """A rank beyond the size of one of its groups is refused."""
    outside = Place(**{axis: getattr(grid, axis)})
    refuses(lambda: implementation.place_batch(batch, grid, outside), "places lie in the grid, or are refused")


@law(
    "STG-008",
    needs=NEEDS,
    harm="the kernel of one stage refuses the boundaries",
    sources=("P-STAGE", "P-BOUND", "B10", "ML-21"),
    activity=MIDDLE,
)
@given(batch=thd_batches(layouts(padding="some")), grid=grids())
def test_every_rank_has_boundaries_of_32_bits(implementation: Implementation, batch: ThdBatch, grid: Grid) -> None:
    """Boundaries and ``seq_idx`` are int32 on every rank, however they came there."""
    for place in places(grid):
        params = _params(implementation.place_batch(batch, grid, place), place)
        for field in fields(SequenceParams):
            dtype: object = getattr(getattr(params, field.name), "dtype", None)
            if dtype is not None:
                same(dtype, np.dtype(np.int32), f"the rank at {place} has {field.name} in 32 bits")

"""What each rank looks up for its slots: rows of rotary tables, positions on several axes, values shifted for MTP."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from properties.segments import is_padding, position_of, segment_of, slots_per_segment, valid_per_segment
from reference_impl.batches import AnyArray, Layout
from reference_impl.documents import IntArray
from reference_impl.interface import Implementation, Op
from reference_impl.ranks import Borders, RotaryMode

DEPTHS = (1, 2)
AXES = 3
"""Time, height and width, as models of images have them."""


def tables_of(implementation: Implementation, layout: Layout, world: int, rank: int) -> dict[str, Tensor]:
    """What an implementation gives one rank, by name, as far as it has the operations."""
    found: dict[str, AnyArray] = {}
    has = implementation.operations()
    if Op.ROTARY_ROWS in has:
        for mode in RotaryMode:
            found[f"rotary rows, {mode}"] = implementation.rotary_rows(layout, world, rank, mode)
    if Op.ROTARY_AXES in has:
        found["rotary axes"] = implementation.rotary_axes(_axes(layout), layout, world, rank)
    if Op.ROLL in has:
        for depth in DEPTHS:
            for borders in Borders:
                rolled = implementation.roll(_values(layout), layout, world, depth, borders)
                found[f"shifted by {depth}, {borders}"] = rolled[rank]
    return {name: torch.from_numpy(np.array(array, dtype=np.int64)) for name, array in found.items()}


def expected_tables(layout: Layout, own: IntArray) -> dict[str, Tensor]:
    """The same for the slots ``own`` (T / W,) of a rank, worked out slot by slot."""
    position = position_of(layout)
    found: dict[str, IntArray] = {
        f"rotary rows, {RotaryMode.RESTART}": position[own],
        f"rotary rows, {RotaryMode.STREAM}": own,
        "rotary axes": _axes(layout)[:, own],
    }
    lengths = {Borders.PADDED: slots_per_segment(layout), Borders.VALID: valid_per_segment(layout)}
    for depth in DEPTHS:
        for borders, ends in lengths.items():
            end = ends[segment_of(layout)]
            shifted = [
                value + depth if place + depth < last else 0
                for value, place, last in zip(_values(layout), position, end, strict=True)
            ]
            found[f"shifted by {depth}, {borders}"] = np.array(shifted, dtype=np.int64)[own]
    return {name: torch.from_numpy(array) for name, array in found.items()}


def tokens_among(layout: Layout, own: IntArray) -> Tensor:
    """Which of the slots of a rank hold a token (T / W,) bool; what the others look up means nothing."""
    return torch.from_numpy(~is_padding(layout)[own])


def _values(layout: Layout) -> IntArray:
    """Values that name their slot, counted from 1: 0 stands for no successor."""
    return np.arange(1, int(layout.padded[-1]) + 1, dtype=np.int64)


def _axes(layout: Layout) -> IntArray:
    """Positions (A, T) that differ on every axis."""
    return position_of(layout)[None, :] * np.arange(1, AXES + 1)[:, None]

"""Where operators are applied in what ranks share: rows of tables, losses, samples, stages, attention."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from properties.siblings.operators import (
    ABSENT,
    BINS,
    FLAG,
    FLOATS,
    ITEMS,
    MASK,
    NUMBER,
    POSITIONS,
    REAL,
    SLOTS,
    TABLE,
    WIDTH,
    Change,
)
from properties.siblings.places import LAYOUT, LAYOUT_ARGUMENT, PARAMS, RANK, Places, under
from reference_impl.interface import Op
from reference_impl.ranks import Borders, RankOrder, RotaryMode

_WORLD: dict[str, Change] = {
    "one": lambda _: 1,
    "doubled": lambda world: 2 * world,
    "halved": lambda world: max(world // 2, 1),
}
_BORDERS: dict[str, Change] = {f"always {borders}": lambda _, borders=borders: borders for borders in Borders}
_MODE: dict[str, Change] = {f"always {mode}": lambda _, mode=mode: mode for mode in RotaryMode}
_ORDER: dict[str, Change] = {
    "exchanged": lambda order: RankOrder(order.to_stream, order.to_ranks),
    "way there only": lambda order: RankOrder(order.to_ranks, order.to_ranks),
    "way back only": lambda order: RankOrder(order.to_stream, order.to_stream),
}
_FEW: dict[str, Change] = {name: FLOATS[name] for name in ("one later", "last zeroed", "halved")}
"""Attention is slow: what of it is changed gets few operators."""


def _other(axis: str, number: int) -> Change:
    def change(place: Any) -> Any:
        return replace(place, **{axis: number})

    return change


RESULTS: dict[Op, Places] = {
    Op.ROLL: {"": ITEMS, "*": SLOTS, "last": SLOTS},
    Op.ROTARY_ROWS: {"": POSITIONS},
    Op.ROTARY_AXES: {"": TABLE},
    Op.REDUCE_LOSS: {"loss": REAL, "tokens": NUMBER, "scales": FLOATS},
    Op.SCHEDULE: {"": BINS, "*": ITEMS, "*.*.slots": NUMBER, "*.*.sample": NUMBER, "*.*.ranks": ITEMS},
    Op.BALANCE: {"": BINS, "*": ITEMS, "first": ITEMS, "last": ITEMS},
    Op.PLACE_BATCH: {
        "tokens": SLOTS | ABSENT,
        "position_ids": POSITIONS | ABSENT,
        "labels": SLOTS | ABSENT,
        "loss_mask": MASK | ABSENT,
        "params": ABSENT,
    }
    | under("params", PARAMS),
    Op.ALL_TO_ALL_ORDER: {"": _ORDER, "to_ranks": SLOTS, "to_stream": SLOTS},
    Op.ATTENTION: {"out": _FEW | WIDTH, "grad_q": _FEW, "grad_k": _FEW, "grad_v": _FEW},
    Op.RECURRENCE: {"out": FLOATS, "grad_values": FLOATS, "grad_decays": FLOATS},
    Op.SHORT_CONVOLUTION: {"out": FLOATS, "grad_values": FLOATS, "grad_decays": FLOATS},
}

_RECURRENT: dict[int, Places] = {
    0: {"values": FLOATS, "decays": FLOATS, "grad_out": FLOATS},
    1: {"": SLOTS | {"one document": SLOTS["all zero"]}},
}

ARGUMENTS: dict[Op, dict[int, Places]] = {
    Op.ROLL: {0: {"": SLOTS}, 1: LAYOUT_ARGUMENT, 2: {"": _WORLD}, 3: {"": NUMBER}, 4: {"": _BORDERS}},
    Op.ROTARY_ROWS: {0: LAYOUT_ARGUMENT, 1: {"": _WORLD}, 2: {"": RANK}, 3: {"": _MODE}},
    Op.ROTARY_AXES: {0: {"": TABLE}, 1: LAYOUT_ARGUMENT, 2: {"": _WORLD}, 3: {"": RANK}},
    Op.REDUCE_LOSS: {
        0: {"": ITEMS, "*.losses": FLOATS, "last.losses": FLOATS, "*.weights": MASK, "last.weights": MASK}
    },
    Op.SCHEDULE: {0: {"": SLOTS}, 1: {"": NUMBER}, 2: {"": NUMBER}},
    Op.BALANCE: {0: {"": SLOTS}, 1: {"": NUMBER}, 2: {"": NUMBER}, 3: {"": NUMBER}},
    Op.PLACE_BATCH: {
        0: under("layout", LAYOUT) | {"max_seqlen": NUMBER},
        1: {"pipeline": NUMBER, "tensor": NUMBER, "context": NUMBER},
        2: {"": {f"first of {axis}": _other(axis, 0) for axis in ("pipeline", "tensor", "context")}},
    },
    Op.ALL_TO_ALL_ORDER: {0: LAYOUT_ARGUMENT, 1: {"": _WORLD}},
    Op.ATTENTION: {
        0: {"q": {"halved": FLOATS["halved"]}, "v": {"one later": FLOATS["one later"]}},
        1: {"": LAYOUT_ARGUMENT[""]},
        4: {"": {name: FLAG[name] for name in ("always", "never")}},
    },
    Op.RECURRENCE: _RECURRENT,
    Op.SHORT_CONVOLUTION: _RECURRENT,
}
"""By the number of the argument, ``self`` not counted."""

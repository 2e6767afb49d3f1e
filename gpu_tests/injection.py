"""Which re-created bugs these suites must notice, and the plan of checks that each of them is put through."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from gpu_tests.cases import SIMULATED, Case, Method, case_of
from gpu_tests.programs.attention import METHODS
from gpu_tests.programs.texts import Source
from gpu_tests.ranks import Runner
from gpu_tests.ranks_equal_one import check_attention, check_simulation, check_slicing
from gpu_tests.training_equals_unpacked import check_idle_step, check_training_step
from properties.museum import Bug, museum
from reference_impl.interface import Op

AREAS = ("CP", "RoPE", "position", "MTP", "loss", "THD")
"""Words of the museum's areas that these suites are about."""

REACHED = frozenset({
    Op.PARTITION, Op.SLICE_BATCH, Op.GATHER, Op.LOCAL_BOUNDARIES, Op.ALL_TO_ALL_ORDER, Op.SEQUENCE_PARAMS,
    Op.POSITION_IDS, Op.PAD_LAYOUT, Op.PACK_IN_BATCH, Op.PAD_DOCUMENT, Op.FILL, Op.COLLATE, Op.ROTARY_ROWS,
    Op.ROTARY_AXES, Op.ROLL, Op.REDUCE_LOSS, Op.ATTENTION,
})  # fmt: skip
"""Operations that the checks below call, directly or through others."""

NO_NUMBERS: Mapping[Op, str] = {
    Op.VALIDATE: "a configuration is accepted or refused before anything is computed",
    Op.SCHEDULE: "which samples go together is decided on the host, and any grouping that fits trains the same",
}
"""Operations of these areas that the checks do not come to, and why."""

_REFUSED = "shows only on input that must be refused; these suites hold valid input"
_PADDING = "changes what padding holds, which no output, loss or gradient may depend on"

WITHOUT_NUMERIC_EFFECT: Mapping[str, str] = {
    "B1": _REFUSED,
    "B2": _REFUSED,
    "B10": "changes the type of boundaries, not their values",
    "B11": _REFUSED,
    "B16": _REFUSED,
    "B20": _REFUSED,
    "MB-16": "costs time: a slower kernel with the same result; see test_silent_costs.py",
    "S19": "shows only on a stream without a slot",
    "TE-05": "shows only beyond 2^31 slots; see the suite `offsets`",
    "TR-03": _PADDING,
    "X-ATT-7": _REFUSED,
    "X-COL-5": _PADDING,
    "X-CPX-5": "shows only for a rank that does not exist",
    "X-CPX-7": "shows only on a stream without a slot",
    "X-CPX-10": _REFUSED,
    "X-LOC-4": _REFUSED,
    "X-LOS-5": _REFUSED,
    "X-MTP-4": _REFUSED,
    "X-POS-1": _PADDING,
    "X-ROT-3": _REFUSED,
}
"""Bugs of these areas that no number shows, and why."""

Check = Callable[[Runner, str], object]

_CUT = {Op.PARTITION, Op.LOCAL_BOUNDARIES, Op.ALL_TO_ALL_ORDER, Op.SEQUENCE_PARAMS}
_SLICED = {Op.PARTITION, Op.SLICE_BATCH, Op.GATHER, Op.SEQUENCE_PARAMS, Op.POSITION_IDS, Op.ROTARY_ROWS,
           Op.ROTARY_AXES, Op.ROLL}  # fmt: skip
_TRAINED = {*_CUT, Op.SLICE_BATCH, Op.POSITION_IDS, Op.ROTARY_ROWS, Op.ROLL, Op.REDUCE_LOSS}
_PACKED: Mapping[Source, set[Op]] = {
    "in batch": {Op.PACK_IN_BATCH, Op.PAD_LAYOUT},
    "offline": {Op.PAD_DOCUMENT, Op.FILL, Op.COLLATE},
    "whole loss": {Op.PAD_DOCUMENT, Op.FILL, Op.COLLATE},
    "filled": {Op.FILL, Op.COLLATE},
}


@dataclass(frozen=True)
class Planned:
    """One check of the plan.

    Attributes:
        name: what it looks at, in words.
        reaches: operations that it comes to; a bug of another one cannot show in it.
        check: raises unless the target is right.
    """

    name: str
    reaches: frozenset[Op]
    check: Check


def injected() -> Iterator[Bug]:
    """Bugs of our areas that break an operation which the checks reach, and that a number shows."""
    for bug in museum().values():
        ours = any(word in bug.area for word in AREAS) and bug.overrides & REACHED
        if ours and bug.id not in WITHOUT_NUMERIC_EFFECT:
            yield bug


def plan() -> Iterator[Planned]:
    """All checks, quick ones first."""
    for stream in ("many documents", "padding in the tail only", "zero length inside", "whole chunks of padding"):
        for world in (2, 4):
            yield _slicing(case_of(stream, context=world))
    yield Planned("a step that trains nothing", frozenset({Op.REDUCE_LOSS}), check_idle_step)
    yield _attention(case_of("odd tails", context=2), "ring")
    yield _attention(case_of("padding in the tail only", context=2), "ring")
    yield _attention(case_of("zero length inside", context=2, causal=False), "ring")
    yield _attention(case_of("padding between", context=2, causal=False), "all_to_all")
    for method in METHODS:
        for case in SIMULATED:
            yield _simulation(case, method)
    sources: tuple[Source, ...] = ("in batch", "offline", "whole loss")
    for stream, world in (("padding in the tail only", 2), ("many documents", 1), ("one long among short", 2)):
        for source in sources:
            yield _training(case_of(stream, context=world, dtype="float64"), source)
    yield _training(case_of("aligned", context=2, dtype="float64"), "filled")


def _slicing(case: Case) -> Planned:
    return Planned(
        f"slicing of {case}", frozenset(_SLICED), lambda runner, target: check_slicing(runner, target, case)
    )


def _attention(case: Case, method: Method) -> Planned:
    return Planned(
        f"{method} attention to {case}",
        frozenset(_CUT),
        lambda runner, target: check_attention(runner, target, case, method),
    )


def _simulation(case: Case, method: Method) -> Planned:
    return Planned(
        f"account of {method} attention to {case}",
        frozenset({Op.PARTITION, Op.LOCAL_BOUNDARIES, Op.ATTENTION}),
        lambda runner, target: check_simulation(runner, target, case, method),
    )


def _training(case: Case, source: Source) -> Planned:
    return Planned(
        f"training on {case}, {source}",
        frozenset(_TRAINED | _PACKED[source]),
        lambda runner, target: check_training_step(runner, target, case, source),
    )

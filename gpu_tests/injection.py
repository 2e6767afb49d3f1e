"""Which re-created bugs these suites must notice, and the plan of checks that each of them is put through."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

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
"""Operations that the checks below call, directly or through others. Configurations and schedules are no numbers."""

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


def injected() -> Iterator[Bug]:
    """Bugs of our areas that break an operation which the checks reach, and that a number shows."""
    for bug in museum().values():
        ours = any(word in bug.area for word in AREAS) and bug.overrides & REACHED
        if ours and bug.id not in WITHOUT_NUMERIC_EFFECT:
            yield bug


def plan() -> Mapping[str, Check]:
    """Checks by name, those that find most first."""
    checks: dict[str, Check] = {}
    for stream in ("many documents", "padding in the tail only", "zero length inside", "whole chunks of padding"):
        for world in (2, 4):
            checks[f"slicing of {stream} on {world} ranks"] = _slicing(case_of(stream, context=world))
    for stream, causal in (("odd tails", True), ("padding in the tail only", True), ("zero length inside", False)):
        case = case_of(stream, context=2, causal=causal)
        checks[f"ring attention to {stream}"] = lambda runner, target, case=case: check_attention(
            runner, target, case, "ring"
        )
    everything = case_of("padding between", context=2, causal=False)
    checks["all-to-all attention, not causal"] = lambda runner, target: check_attention(
        runner, target, everything, "all_to_all"
    )
    checks["a step that trains nothing"] = check_idle_step
    for method in METHODS:
        for case in SIMULATED:
            checks[f"account of {method} attention, {case}"] = _simulation(case, method)
    for stream, world in (("padding in the tail only", 2), ("many documents", 1), ("one long among short", 2)):
        case = case_of(stream, context=world, dtype="float64")
        checks[f"training in batch on {stream}"] = _training(case, "in batch")
        checks[f"training offline on {stream}"] = _training(case, "offline")
        checks[f"training with whole loss on {stream}"] = _training(case, "whole loss")
    checks["training on filled rows"] = _training(case_of("aligned", context=2, dtype="float64"), "filled")
    return checks


def _slicing(case: Case) -> Check:
    return lambda runner, target: check_slicing(runner, target, case)


def _simulation(case: Case, method: Method) -> Check:
    return lambda runner, target: check_simulation(runner, target, case, method)


def _training(case: Case, source: Source) -> Check:
    return lambda runner, target: check_training_step(runner, target, case, source)

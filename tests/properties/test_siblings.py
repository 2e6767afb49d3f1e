"""Siblings of the museum's bugs: operators do what they say, effects are told, reasons name siblings that exist."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import numpy as np
import pytest

from conformance.sibling_run import Fate, Row, score
from properties.museum import museum
from properties.siblings import siblings
from properties.siblings.allowed import allowed, reason_for
from properties.siblings.effects import Effect, Made, calls, effects
from properties.siblings.operators import BOUNDARIES, FLOATS, MASK, POSITIONS, SLOTS, TABLE, Change, edit
from reference_impl.batches import Layout
from reference_impl.documents import Algorithm
from reference_impl.errors import PackingError
from reference_impl.interface import Op
from reference_impl.policies import EmptyRow, Policies
from reference_impl.ranks import LossPart, ReducedLoss
from reference_impl.reference import ReferenceImplementation

ARRAY = np.array([0, 3, 3, 8])


@pytest.mark.parametrize(
    ("operators", "name", "expected"),
    [
        (SLOTS, "one later", [0, 0, 3, 3]),
        (SLOTS, "one earlier", [3, 3, 8, 8]),
        (SLOTS, "last dropped", [0, 3, 3]),
        (POSITIONS, "reset skipped", [0, 1, 2, 3]),
        (BOUNDARIES, "equal merged", [0, 3, 8]),
        (BOUNDARIES, "inner one less", [0, 2, 2, 8]),
        (BOUNDARIES, "last one more", [0, 3, 3, 9]),
        (MASK, "last set", [0, 3, 3, 1]),
        (FLOATS, "first and last exchanged", [8, 3, 3, 0]),
        (FLOATS, "last zeroed", [0, 3, 3, 0]),
        (FLOATS, "halved", [0, 1.5, 1.5, 4]),
    ],
)
def test_operators_do_what_their_names_say(operators: dict[str, Change], name: str, expected: list[float]) -> None:
    before = ARRAY.copy()
    assert operators[name](before).tolist() == expected
    assert before.tolist() == ARRAY.tolist()


def test_tables_are_changed_along_either_axis() -> None:
    table = np.array([[1, 2, 3], [4, 5, 6]])
    assert TABLE["columns: one later"](table).tolist() == [[1, 1, 2], [4, 4, 5]]
    assert TABLE["axes reversed"](table).tolist() == [[4, 5, 6], [1, 2, 3]]
    assert TABLE["first axis in place of all"](table).tolist() == [[1, 2, 3], [1, 2, 3]]


@dataclass(frozen=True)
class Box:
    inner: tuple[dict[str, int], ...]
    other: int | None = None


def test_a_change_is_made_at_its_place_only() -> None:
    box = Box(({"a": 1, "b": 2}, {"a": 3}))
    assert edit(box, ("inner", "*", "a"), lambda number: -number) == Box(({"a": -1, "b": 2}, {"a": -3}))
    assert edit(box, ("inner", "last", "a"), lambda number: -number) == Box(({"a": 1, "b": 2}, {"a": -3}))
    assert edit(box, ("other",), lambda number: number + 1) == box


LENGTHS = np.array([3, 2])


@pytest.mark.parametrize(
    ("id", "expected"),
    [
        ("pad_layout result valid: one entry later", {(".valid", Effect.VALUES)}),
        ("pad_layout result padded: last dropped", {(".padded", Effect.LENGTH)}),
        ("pad_layout result padded: other width of integers", {(".padded", Effect.TYPE)}),
        ("pad_layout argument 0: reversed", {(".valid", Effect.VALUES)}),
    ],
)
def test_effects_name_the_place_and_the_kind(id: str, expected: set[tuple[str, Effect]]) -> None:
    made = [Made((LENGTHS, 4), ReferenceImplementation().pad_layout(LENGTHS, 4))]
    assert effects(siblings()[id].implementation(), Op.PAD_LAYOUT, made) == expected


def test_an_accepted_refusal_is_an_effect() -> None:
    made = [Made((LENGTHS, 0), PackingError("multiple", 0, "must be at least 1"))]
    forgiving = siblings()["pad_layout behaviour: forgives what it must refuse"].implementation()
    assert effects(forgiving, Op.PAD_LAYOUT, made) == {("", Effect.ACCEPTS)}
    silent = siblings()["pad_layout behaviour: refuses without a message"].implementation()
    assert effects(silent, Op.PAD_LAYOUT, made) == {("", Effect.REFUSES_OTHERWISE)}
    assert effects(ReferenceImplementation(), Op.PAD_LAYOUT, made) == frozenset()


def test_an_empty_bin_is_an_effect() -> None:
    made = [Made((LENGTHS, 4, Algorithm.FIRST_FIT_DECREASING, 0), ((3,), (2,)))]
    appending = siblings()["assign_bins result: empty one appended"].implementation()
    assert effects(appending, Op.ASSIGN_BINS, made) == {("", Effect.PRESENCE)}


def test_a_changed_argument_is_an_effect() -> None:
    made = [Made((LENGTHS, 4), ReferenceImplementation().pad_layout(LENGTHS, 4))]
    writing = siblings()["pad_layout behaviour: writes to an argument"].implementation()
    assert effects(writing, Op.PAD_LAYOUT, made) == {("", Effect.SIDE_EFFECT)}
    assert LENGTHS.tolist() == [3, 2]


@pytest.mark.parametrize(("difference", "expected"), [(1e-14, set()), (1e-6, {(".loss", Effect.VALUES)})])
def test_rounding_is_no_effect(difference: float, expected: set[tuple[str, Effect]]) -> None:
    parts = (LossPart(np.array([1.0, 3.0]), np.array([1.0, 1.0])),)
    made = [Made((parts,), ReducedLoss(2.0 + difference, 2, np.array([0.5 + 1e-14])))]
    assert effects(ReferenceImplementation(), Op.REDUCE_LOSS, made) == expected


class Wavering(ReferenceImplementation):
    calls = 0

    def reduce_loss(self, parts: Sequence[LossPart]) -> ReducedLoss:
        self.calls += 1
        right = super().reduce_loss(parts)
        return replace(right, scales=right.scales * (1 + self.calls % 2 * 1e-15))


def test_last_bits_that_come_and_go_are_an_effect() -> None:
    parts = (LossPart(np.array([1.0, 3.0]), np.array([1.0, 1.0])),)
    made = [Made((parts,), ReferenceImplementation().reduce_loss(parts))]
    assert effects(Wavering(), Op.REDUCE_LOSS, made) == {("", Effect.NOT_REPEATABLE)}
    assert effects(ReferenceImplementation(), Op.REDUCE_LOSS, made) == frozenset()


def test_not_a_number_is_an_effect_where_a_number_belongs() -> None:
    parts = (LossPart(np.array([np.nan, 3.0]), np.array([0.0, 1.0])),)
    made = [Made((parts,), ReferenceImplementation().reduce_loss(parts))]
    counting = siblings()["reduce_loss argument 0 *.weights: all"].implementation()
    assert (".loss", Effect.VALUES) in effects(counting, Op.REDUCE_LOSS, made)


def test_a_bug_is_compared_with_the_reference_that_declares_the_same() -> None:
    declaring = Policies(empty_row=EmptyRow.REFUSED)
    refused = [made for made in calls(Op.PACK_IN_BATCH, 3, 50, declaring) if isinstance(made.expected, PackingError)]
    bug = museum()["S22"].implementation()
    assert ("", Effect.ACCEPTS) in effects(bug, Op.PACK_IN_BATCH, refused)


def test_the_reference_has_no_effect() -> None:
    made = [Made((LENGTHS, 4), Layout(np.array([0, 3, 5]), np.array([0, 4, 8])))]
    assert effects(ReferenceImplementation(), Op.PAD_LAYOUT, made) == frozenset()


def test_the_score_leaves_out_what_does_nothing() -> None:
    rows = [
        Row("a", "fill", Fate.KILLED, "FIL-001", ("tokens values",)),
        Row("b", "fill", Fate.SURVIVED, "", ("loss_mask values",)),
        Row("c", "fill", Fate.IDENTICAL, "", ()),
    ]
    found = score(rows, {"X-1": ("fill", ("starts values",)), "X-2": ("collate", ("labels values",))})
    assert (found.score, found.survivors, found.alone) == (0.5, ("b",), ("X-2",))
    assert found.siblings_of["X-1"] == ("a", "b")


def test_every_operation_has_siblings() -> None:
    assert {sibling.op for sibling in siblings().values()} == set(Op)


def test_reasons_are_for_siblings_that_exist() -> None:
    for pattern in allowed():
        assert any(fnmatchcase(id, pattern) for id in siblings()), pattern
    assert reason_for("fill result *.tokens: one later") == ""

"""Siblings against the laws: a score of how well the laws do beyond the bugs that happened."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec
import numpy as np

from conformance.kill_matrix import DEAR, GLANCE, SEARCH
from conformance.many import Workers
from properties.law import Law, Verdict, catalogue
from properties.museum import museum
from properties.siblings import Sibling, siblings
from properties.siblings.effects import ON_FILES, Effect, calls, effects
from properties.tracing import concerns, drawn
from reference_impl.interface import Implementation, Op

FEW, MANY = (3, 50), (SEARCH, 1000)
"""Inputs of a law and most calls of an operation: to tell what a sibling does, and that it does nothing."""


class Fate(StrEnum):
    """What became of a sibling."""

    KILLED = "killed"
    SURVIVED = "survived"
    IDENTICAL = "identical"


class Row(msgspec.Struct, frozen=True):
    """One sibling.

    Attributes:
        id: of the sibling.
        op: the operation.
        fate: killed by a law; survived; or identical to the reference on every call that laws make.
        law: key of a law that caught it, "" if none did.
        effects: what it does differently, by place and kind.
    """

    id: str
    op: str
    fate: Fate
    law: str
    effects: tuple[str, ...]


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """All siblings.

    Attributes:
        score: killed / (killed + survived), between 0 and 1; identical ones are no mistakes.
        killed, survived, identical: how many.
        survivors: those that differ from the reference and that no law caught.
        rows: every sibling.
        siblings_of: by bug, siblings of the same operation that do the same kind of thing in another place.
        alone: bugs without a sibling.
    """

    score: float
    killed: int
    survived: int
    identical: int
    survivors: tuple[str, ...]
    rows: tuple[Row, ...]
    siblings_of: dict[str, tuple[str, ...]]
    alone: tuple[str, ...]


def run(workers: Workers, seed: int = 0) -> Score:
    """Put every sibling to the laws that come to its operation."""
    by_op = {op: [id for id, sibling in siblings().items() if sibling.op is op] for op in Op}
    tasks = [(op, tuple(ids[start::2]), seed) for op, ids in by_op.items() for start in range(2) if ids[start::2]]
    rows = [row for part in workers.map("siblings", of_operation, tasks) for row in part]
    kinds = workers.map("kinds of bugs", kinds_of_bugs, [(op,) for op in Op])
    return score(rows, {bug: found for part in kinds for bug, found in part.items()})


def score(rows: Sequence[Row], bugs: dict[str, tuple[str, tuple[str, ...]]]) -> Score:
    """Sum up.

    Args:
        rows: one per sibling.
        bugs: operation and effects by bug.
    """
    count = {fate: sum(row.fate is fate for row in rows) for fate in Fate}
    real = [row for row in rows if row.fate is not Fate.IDENTICAL]
    related = {
        bug: tuple(row.id for row in real if row.op == op and _alike(found, row.effects))
        for bug, (op, found) in bugs.items()
    }
    return Score(
        score=round(count[Fate.KILLED] / max(1, len(real)), 4),
        killed=count[Fate.KILLED],
        survived=count[Fate.SURVIVED],
        identical=count[Fate.IDENTICAL],
        survivors=tuple(row.id for row in rows if row.fate is Fate.SURVIVED),
        rows=tuple(rows),
        siblings_of=related,
        alone=tuple(bug for bug, found in related.items() if not found),
    )


def of_operation(op: Op, ids: Sequence[str], seed: int) -> tuple[Row, ...]:
    """Siblings of one operation."""
    direct = [law for law in catalogue().values() if op in law.needs and not law.needs & DEAR - {op}]
    return tuple(_row(siblings()[id], direct, seed) for id in ids)


def kinds_of_bugs(op: Op) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Operation and effects of the bugs that break an operation."""
    bugs = [bug for bug in museum().values() if op in bug.overrides]
    return {bug.id: (op.value, _effects(bug.implementation(), op)) for bug in bugs}


def _row(sibling: Sibling, direct: Sequence[Law], seed: int) -> Row:
    op, implementation = sibling.op, sibling.implementation()
    found = _effects(implementation, op)
    if not found:
        return Row(sibling.id, op.value, Fate.IDENTICAL, "", ())
    law = (
        _caught(implementation, direct, GLANCE, seed)
        or _caught(implementation, direct, SEARCH, seed)
        or _caught(implementation, _indirect(sibling), GLANCE, seed)
    )
    return Row(sibling.id, op.value, Fate.KILLED if law else Fate.SURVIVED, law, found)


def _indirect(sibling: Sibling) -> list[Law]:
    return [
        law
        for law in catalogue().values()
        if sibling.op not in law.needs and not law.needs & DEAR and concerns(law, sibling.as_bug())
    ]


def _caught(implementation: Implementation, laws: Sequence[Law], number: int, seed: int) -> str:
    """Key of the first law that fails, "" if none does; all laws are given one input before any is given the next."""
    for place in range(number):
        for law in laws:
            inputs = drawn(law.key, number, seed)
            if place < len(inputs):
                with np.errstate(all="ignore"):
                    if law.replay(implementation, inputs[place]).verdict is Verdict.FAILED:
                        return law.key
    return ""


def _effects(implementation: Implementation, op: Op) -> tuple[str, ...]:
    if op in ON_FILES:
        found = effects(implementation, op, ())
    else:
        policies = implementation.policies
        found = effects(implementation, op, calls(op, *FEW, policies))
        found = found or effects(implementation, op, calls(op, *MANY, policies))
    return tuple(sorted(f"{place} {kind.value}".strip() for place, kind in found))


def _alike(bug: Sequence[str], sibling: Sequence[str]) -> bool:
    """Whether two do the same kind of thing."""
    return bool({_kind(effect) for effect in bug} & {_kind(effect) for effect in sibling})


def _kind(effect: str) -> str:
    return next(kind.value for kind in Effect if effect.endswith(kind.value))

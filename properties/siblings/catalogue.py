"""All siblings, by id."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from properties.museum.bug import Bug
from properties.siblings import places, rank_places
from properties.siblings.behaviours import DECLARED, Method, behaviours, original
from properties.siblings.operators import Change, edit
from reference_impl.interface import Implementation, Op
from reference_impl.policies import Policies
from reference_impl.reference import ReferenceImplementation
from reference_impl.rules import RULES, Severity, check, verdict

_DEFAULT = Policies()


@dataclass(frozen=True)
class Sibling:
    """One operator at one place of one operation.

    Attributes:
        id: ``collate result *.labels: one later``.
        op: the operation.
        place: ``result``, ``argument 0`` or ``behaviour``, with the path inside it.
        operator: what is done there.
        implementation: the reference with it.
    """

    id: str
    op: Op
    place: str
    operator: str
    implementation: type[Implementation]

    def as_bug(self) -> Bug:
        """The sibling as laws meet bugs."""
        return Bug(self.id, self.op.value, "", "generated", f"{self.place}: {self.operator}", self.implementation)


@cache
def siblings() -> Mapping[str, Sibling]:
    """Every sibling by id."""
    return {sibling.id: sibling for sibling in (*_of_results(), *_of_arguments(), *_of_behaviour(), *_of_rules())}


def _of_results() -> Iterator[Sibling]:
    for op, paths in (places.RESULTS | rank_places.RESULTS).items():
        for path, operators in paths.items():
            for name, change in operators.items():
                yield _sibling(op, f"result {path}".strip(), name, _changes_result(op, _steps(path), change))


def _of_arguments() -> Iterator[Sibling]:
    for op, arguments in (places.ARGUMENTS | rank_places.ARGUMENTS).items():
        for number, paths in arguments.items():
            for path, operators in paths.items():
                for name, change in operators.items():
                    place = f"argument {number} {path}".strip()
                    yield _sibling(op, place, name, _changes_argument(op, number, _steps(path), change))


def _of_behaviour() -> Iterator[Sibling]:
    for op in Op:
        if op in {Op.VALIDATE, Op.PREPARE_TEXT}:  # the rules have siblings of their own; text is dear
            continue
        for name, method in behaviours(op).items():
            yield _sibling(op, "behaviour", name, method)
    for op, policies in DECLARED.items():
        for name in ("refuses without a message", "forgives what it must refuse"):
            yield _sibling(op, "behaviour where it declares to refuse", name, behaviours(op)[name], policies)


def _of_rules() -> Iterator[Sibling]:
    for id, rule in RULES.items():
        if rule.severity is Severity.ERROR and rule.until is None:
            yield _sibling(Op.VALIDATE, f"rule {id}", "not checked", _leaves_out(id))
            yield _sibling(Op.VALIDATE, f"rule {id}", "always broken", _always_breaks(id))


def _sibling(op: Op, place: str, operator: str, method: Method, policies: Policies = _DEFAULT) -> Sibling:
    implementation = type("Sibling", (ReferenceImplementation,), {op.value: method, "policies": policies})
    return Sibling(f"{op.value} {place}: {operator}", op, place, operator, implementation)


def _steps(path: str) -> Sequence[str]:
    return path.split(".") if path else ()


def _changes_result(op: Op, path: Sequence[str], change: Change) -> Method:
    def method(self: Implementation, *arguments: Any) -> Any:
        return edit(original(op)(self, *arguments), path, change)

    return method


def _changes_argument(op: Op, number: int, path: Sequence[str], change: Change) -> Method:
    def method(self: Implementation, *arguments: Any) -> Any:
        changed = edit(arguments[number], path, change)
        return original(op)(self, *arguments[:number], changed, *arguments[number + 1 :])

    return method


def _leaves_out(id: str) -> Method:
    def method(_: Implementation, config: Any) -> Any:
        return verdict(item for item in check(config) if item.rule.id != id)

    return method


def _always_breaks(id: str) -> Method:
    def method(_: Implementation, config: Any) -> Any:
        found = verdict(check(config))
        return type(found)(accepted=False, errors=(*found.errors, f"{id} is broken"))

    return method

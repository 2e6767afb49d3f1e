"""Counterexamples of the operations beyond one stream: recorded, replayed, and reproduced by a few lines."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import settings

from conformance import cases
from conformance.snippet import snippet
from conformance.targets.duck_typed import DuckTyped
from properties.law import Verdict, catalogue
from properties.museum import museum
from reference_impl.interface import Op
from reference_impl.reference import ReferenceImplementation

PAIRS = [
    ("ATT-001[ring]", "MB-30"),
    ("STG-001", "MB-20"),
    ("LOS-003", "ML-15"),
    ("SCH-004", "B25"),
    ("SCH-011", "SL-03"),
    ("ROT-001[stream]", "ML-18"),
    ("ROT-007", "B13"),
    ("MTP-001[valid borders]", "ML-13"),
    ("REC-001", "AM-02-scan"),
    ("CPX-033", "X-CPX-11"),
]
FEW = settings(max_examples=60, database=None)


@pytest.mark.parametrize(("key", "bug"), PAIRS)
def test_a_counterexample_outlives_its_run(key: str, bug: str) -> None:
    """Written as JSON and read again, it still fails on the bug and passes on the reference."""
    law, broken = catalogue()[key], museum()[bug].implementation()
    outcome = law.run(broken, profile=FEW)
    assert outcome.failure is not None
    written = msgspec.json.encode(cases.record(law, outcome.failure, outcome.message, f"museum:{bug}", {}))
    inputs = cases.inputs_of(msgspec.json.decode(written, type=cases.Case), law)
    assert law.replay(broken, inputs).verdict is Verdict.FAILED
    assert law.replay(DuckTyped(ReferenceImplementation()), inputs).verdict is Verdict.PASSED


@pytest.mark.parametrize(("key", "bug"), PAIRS)
def test_a_counterexample_is_reproduced_by_a_few_lines(key: str, bug: str) -> None:
    """Enumerations are written as plain strings there, and must mean the same."""
    outcome = catalogue()[key].run(museum()[bug].implementation(), profile=FEW)
    assert outcome.failure is not None
    names: dict[str, Any] = {}
    exec(snippet(outcome.failure, f"museum:{bug}"), names)  # noqa: S102 - our own lines
    assert "result" in names


def test_a_class_without_an_operation_does_not_support_its_laws() -> None:
    class Rolls:
        def roll(self, *arguments: object) -> tuple[object, ...]:
            raise AssertionError(arguments)

    target = DuckTyped(Rolls())
    assert target.operations() == {Op.ROLL}
    assert catalogue()["ATT-001[ring]"].run(target).verdict is Verdict.NOT_SUPPORTED

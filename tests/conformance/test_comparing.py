"""Comparing targets: levels of agreement, and the command from outside."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from conformance.cli import app
from conformance.comparing import Level, drawn, level, operations
from conformance.exit_codes import ExitCode
from conformance.protocol import Answer, Kind, Trouble
from reference_impl.interface import Op


def result(value: object) -> Answer:
    return Answer(id=1, result=value)


def error(kind: Kind) -> Answer:
    return Answer(id=1, error=Trouble(kind=kind, message="m"))


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        (result([[3], [2]]), result([[3], [2]]), Level.IDENTICAL),
        (result([[3], [2, 1]]), result([[1, 2], [3]]), Level.SAME_MULTISET),
        (result([[3, 1], [2]]), result([[3], [2, 1]]), Level.SAME_COUNT),
        (result([[3, 2]]), result([[3], [2]]), Level.BOTH_VALID),
        (result({"dtype": "int64", "data": [1, 2]}), result({"dtype": "int64", "data": [1, 3]}), Level.SAME_COUNT),
        (error(Kind.REFUSED), error(Kind.ACCIDENT), Level.BOTH_REFUSE),
        (error(Kind.REFUSED), result([]), Level.ONE_REFUSES),
        (error(Kind.INEXPRESSIBLE), result([]), Level.NOT_COMPARED),
    ],
)
def test_two_answers_agree_as_far_as_they_do(one: Answer, two: Answer, expected: Level) -> None:
    """The order of bins and inside them is a choice; what is in them is not."""
    assert level(one, two) is expected
    assert level(two, one) is expected


def test_inputs_are_those_that_the_laws_draw() -> None:
    """Without repeats, as many as were asked for."""
    inputs = drawn(Op.ASSIGN_BINS, 5)
    assert len(inputs) == 5
    assert len({json.dumps(one) for one in inputs}) == 5
    assert all(len(one) == 4 for one in inputs)


def test_the_command_tells_agreement_and_policies_of_a_bug_beside_the_reference(tmp_path: Path) -> None:
    """S22 only declares another policy; MB-10 packs what must be refused."""
    options = ["--operation", "assign_bins", "--examples", "60", "--report", str(tmp_path)]
    result = CliRunner().invoke(app, ["compare", "reference", "museum:MB-10", "museum:S22", *options])
    assert result.exit_code == ExitCode.OK, result.output
    found, policies = json.loads((tmp_path / "compare.json").read_bytes())
    levels = {row["other"]: row["levels"] for row in found}
    assert set(levels["museum:S22"]) <= {"identical", "both refuse"}
    assert levels["museum:MB-10"]["one refuses"] > 0
    assert [change["name"] for change in policies["museum:S22"]] == ["empty_row"]
    assert policies["museum:MB-10"] == []


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_every_operation_can_be_compared(tmp_path: Path) -> None:
    """Whatever the laws draw for it can be put to another process; a bug differs in its own operation only."""
    result = CliRunner().invoke(app, ["compare", "reference", "museum:MB-10", "--report", str(tmp_path)])
    assert result.exit_code == ExitCode.OK, result.output
    found = json.loads((tmp_path / "compare.json").read_bytes())[0]
    assert [row["operation"] for row in found] == sorted(op.value for op in operations())
    differing = {row["operation"] for row in found if set(row["levels"]) - {"identical", "both refuse"}}
    assert "assign_bins" in differing
    assert not {"collate", "partition", "attention", "validate"} & differing


@pytest.mark.parametrize(
    "arguments", [["reference"], ["reference", "reference"], ["reference", "museum:MB-10", "--operation", "fly"]]
)
def test_what_cannot_be_compared_is_a_matter_of_usage(arguments: list[str]) -> None:
    """One sentence, before any target is started."""
    result = CliRunner().invoke(app, ["compare", *arguments])
    assert result.exit_code == ExitCode.USAGE
    assert "packproof: " in result.stderr

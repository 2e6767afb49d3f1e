"""The list of surviving mutants: it speaks of the code as it is, and its figures add up."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

import reference_impl

SOURCES = Path(reference_impl.__file__).parent
RECORD: dict[str, Any] = tomllib.loads(Path(__file__).with_name("survivors.toml").read_text(encoding="utf-8"))
LEAST = 0.95
"""Share of the mutants."""


@pytest.mark.parametrize("survivor", RECORD["survivors"], ids=lambda survivor: f"{survivor['in']}: {survivor['line']}")
def test_a_survivor_is_one_of_a_line_that_is_still_there(survivor: dict[str, Any]) -> None:
    """Whoever changes the line runs its module again."""
    source = (SOURCES / f"{survivor['in']}.py").read_text(encoding="utf-8")
    assert survivor["line"] in " ".join(source.split())
    assert survivor["why"]


def test_what_was_run_was_killed_or_is_listed() -> None:
    """No survivor goes unmentioned."""
    listed = dict.fromkeys(RECORD["modules"], 0)
    for survivor in RECORD["survivors"]:
        listed[survivor["in"]] += survivor["mutants"]
    survived = {name: module["run"] - module["killed"] for name, module in RECORD["modules"].items()}
    assert listed == survived


def test_every_mutant_of_every_module_was_run() -> None:
    """But for modules that hold no code to change."""
    missing = {path.stem for path in SOURCES.glob("*.py")} - RECORD["modules"].keys()
    assert missing == set(RECORD["nothing_to_mutate"])
    assert all(module["killed"] <= module["run"] == module["mutants"] for module in RECORD["modules"].values())


def test_enough_mutants_are_killed() -> None:
    """The tests would notice nearly every change of the specification."""
    killed, run = (sum(module[key] for module in RECORD["modules"].values()) for key in ("killed", "run"))
    assert killed >= LEAST * run

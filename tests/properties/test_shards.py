"""The nightly workflow tries every law, on whichever machine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from shards import SHARD, shard_of

from properties.law import catalogue

WORKFLOW: dict[str, Any] = yaml.safe_load(
    (Path(__file__).parents[2] / ".github" / "workflows" / "nightly.yml").read_text(encoding="utf-8")
)


def test_the_shards_of_the_workflow_are_all_laws() -> None:
    """Each once."""
    deep = WORKFLOW["jobs"]["deep"]
    numbers: list[int] = deep["strategy"]["matrix"]["shard"]
    count = re.fullmatch(r"\$\{\{ matrix.shard \}\}/(\d+)", deep["env"][SHARD])
    assert count
    laws = sorted(catalogue())
    tried = [key for number in numbers for key in shard_of(laws, f"{number}/{count[1]}")]
    assert sorted(tried) == laws


@pytest.mark.parametrize("which", ["", "3", "0/20", "21/20", "a/b", "3/"])
def test_a_shard_that_is_none_is_refused(which: str) -> None:
    """Otherwise laws would silently go untried."""
    with pytest.raises(ValueError, match="it must be k/n"):
        shard_of([1, 2, 3], which)

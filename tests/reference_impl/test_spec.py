"""The pages of rules: every drawing is what the code above it prints."""

from __future__ import annotations

from pathlib import Path

import pytest
from sybil import Sybil
from sybil.example import SybilFailure
from sybil.parsers.markdown import PythonCodeBlockParser

import reference_impl

PAGES = Path(reference_impl.__file__).parent / "SPEC.md"
TOPICS = ("Documents", "Bins", "Rows", "Collation", "THD boundaries", "Context parallelism", "Loss")


def run(path: Path) -> int:
    """Run all examples in order, in one namespace; return how many there are."""
    examples = list(Sybil([PythonCodeBlockParser()]).parse(path).examples())
    for example in examples:
        example.evaluate()
    return len(examples)


def test_every_drawing_is_what_the_code_prints() -> None:
    """All of them, in the order of the pages."""
    assert run(PAGES) >= 15


@pytest.mark.parametrize(
    ("drawn", "changed"),
    [
        ("rank          0  0  1  1", "rank          0  1  1  1"),
        ("labels        6  7  0 |", "labels        6  7  8 |"),
        ("first_fit             (5, 3)", "first_fit             (5, 2)"),
    ],
)
def test_a_wrong_drawing_fails(drawn: str, changed: str, tmp_path: Path) -> None:
    """Otherwise the pages could say anything."""
    text = PAGES.read_text(encoding="utf-8")
    assert drawn in text
    wrong = tmp_path / "SPEC.md"
    wrong.write_text(text.replace(drawn, changed), encoding="utf-8")
    with pytest.raises(SybilFailure):
        run(wrong)


def test_every_topic_has_a_page() -> None:
    """In reading order."""
    titles = [line.partition(". ")[2] for line in PAGES.read_text(encoding="utf-8").splitlines() if line[:3] == "## "]
    assert tuple(titles) == TOPICS

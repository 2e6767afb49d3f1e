"""Deviations found in released software: each has a ready issue text and a case that fits its law."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance import cases
from properties import museum

FOUND = Path(museum.__file__).parent / "found"
TEXTS = sorted(FOUND.glob("*.md"))


@pytest.mark.parametrize("text", TEXTS, ids=lambda path: path.stem)
def test_a_found_deviation_has_a_case_and_a_text(text: Path) -> None:
    """The text names the law, the case beside it, and how to replay it; it says that nobody was told yet."""
    case = cases.read(text.with_suffix(".json"))
    law = cases.law_of(case)
    assert set(cases.inputs_of(case, law)) == set(law.strategies)
    content = text.read_text()
    assert case.law in content
    assert f"packproof replay properties/museum/found/{text.stem}.json" in content
    assert "Not posted." in content


def test_every_case_has_a_text() -> None:
    """And there is at least one."""
    assert TEXTS
    assert {path.stem for path in FOUND.glob("*.json")} == {path.stem for path in TEXTS}

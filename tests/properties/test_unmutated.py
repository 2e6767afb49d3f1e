"""Examples drawn without repeating parts of earlier ones are all different; Hypothesis's own are not."""

from __future__ import annotations

from hypothesis import settings
from unmutated import BACKEND

from properties.law import catalogue
from properties.profiles import profile


def different(backend: str, number: int) -> int:
    chosen = settings(profile("deep"), max_examples=number, backend=backend)
    return len({repr(inputs) for inputs in catalogue()["PCK-001"].draw(number, profile=chosen)})


def test_no_example_is_drawn_twice() -> None:
    assert different(BACKEND, 300) == 300
    assert different("hypothesis", 300) < 300

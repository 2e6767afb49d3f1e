"""What holds for every refusal, whichever test comes to it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from reference_impl.errors import PackingError

ARGUMENT = re.compile(r"[a-z_]+(\[\d+\])?(\.[a-z_]+)?")
"""An argument as the caller wrote it, such as ``parts[1].weights``."""

REQUIREMENT = re.compile(r"(must|need|is|are|every) .+", re.DOTALL)
"""The end of a sentence that begins with the argument and its value."""


@pytest.fixture(autouse=True)
def _refusals_are_sentences(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each names an argument, shows its value and says in plain words what it must be."""
    refusals: list[PackingError] = []
    construct = PackingError.__init__

    def remember(self: PackingError, argument: str, value: object, requirement: str) -> None:
        construct(self, argument, value, requirement)
        refusals.append(self)

    monkeypatch.setattr(PackingError, "__init__", remember)
    yield
    for refusal in refusals:
        assert ARGUMENT.fullmatch(refusal.argument), refusal
        assert REQUIREMENT.fullmatch(refusal.requirement), refusal
        assert refusal.value is not None or refusal.requirement.startswith("must be given"), refusal

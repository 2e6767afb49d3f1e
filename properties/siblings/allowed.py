"""Siblings that no law may catch, because what they do is allowed."""

from __future__ import annotations

import tomllib
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files


@cache
def allowed() -> dict[str, str]:
    """Reasons by id, or by a pattern of ids."""
    return tomllib.loads(files(__package__).joinpath("allowed.toml").read_text(encoding="utf-8"))


def reason_for(id: str) -> str:
    """Why a sibling is allowed to survive; "" when nothing says so."""
    return next((reason for pattern, reason in allowed().items() if fnmatchcase(id, pattern)), "")

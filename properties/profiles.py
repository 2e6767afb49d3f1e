"""How hard the laws are tried.

`self-check` before a target is measured, `pr` in pull requests, `nightly` at night, `deep` for the reference itself.
``PACKPROOF_EXAMPLES`` overrides the number of examples of any profile. A profile is handed to Hypothesis explicitly,
since Hypothesis loads one of its own where ``CI`` is set.
"""

from __future__ import annotations

import os

from hypothesis import settings

EXAMPLES = {"self-check": 10, "pr": 50, "nightly": 2_000, "deep": 20_000}
DEFAULT = "pr"
SELF_CHECK = "self-check"


def profile(name: str) -> settings:
    """Hypothesis settings of a profile: no database and no deadline, so that equal seeds give equal runs.

    Raises:
        ValueError: there is no such profile, or ``PACKPROOF_EXAMPLES`` is no positive number.
    """
    if name not in EXAMPLES:
        raise ValueError(f"there is no profile {name!r}: choose one of {', '.join(EXAMPLES)}")
    return settings(max_examples=_examples(EXAMPLES[name]), database=None, deadline=None, print_blob=False)


def _examples(default: int) -> int:
    asked = os.environ.get("PACKPROOF_EXAMPLES", str(default))
    if not asked.isdecimal() or int(asked) < 1:
        raise ValueError(f"PACKPROOF_EXAMPLES = {asked!r}: it must be a positive whole number")
    return int(asked)

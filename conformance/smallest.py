"""One law on one bug until the smallest failing case is found, with the time that this takes."""

from __future__ import annotations

import time

import msgspec
from hypothesis import settings

from conformance import cases
from conformance.cases import Case
from conformance.draw import draw_inputs
from properties.law import Verdict, catalogue
from properties.museum import museum
from properties.profiles import DEFAULT, profile

MOST_EXAMPLES = 500
"""Examples after which a law has not found a bug."""


class Smallest(msgspec.Struct, frozen=True):
    """What a law found of a bug.

    Attributes:
        bug: id of the bug.
        law: key of the law.
        seed: of the draws.
        examples: number of the first failing example, None when none of ``MOST_EXAMPLES`` failed.
        seconds: wall time until the failure was shrunk.
        cpu_seconds: the same as processor time, which other work on the machine does not change.
        message: the shrunk failure in words.
        picture: its inputs, drawn; "" where nothing can be drawn.
        case: its inputs, to be replayed.
    """

    bug: str
    law: str
    seed: int
    examples: int | None
    seconds: float
    cpu_seconds: float
    message: str = ""
    picture: str = ""
    case: Case | None = None


def smallest(bug: str, key: str, seed: int) -> Smallest:
    """Search with one law until a bug breaks it, and shrink."""
    law = catalogue()[key]
    started = time.process_time()
    asked = settings(profile(DEFAULT), max_examples=MOST_EXAMPLES)
    outcome = law.run(museum()[bug].implementation(), profile=asked, run_seed=seed)
    spent = round(time.process_time() - started, 4)
    seconds = round(outcome.seconds, 4)
    if outcome.verdict is not Verdict.FAILED or outcome.failure is None:
        return Smallest(bug, key, seed, None, seconds, spent, outcome.message)
    return Smallest(
        bug,
        key,
        seed,
        outcome.first_failure_at,
        seconds,
        spent,
        outcome.message,
        draw_inputs(outcome.failure.inputs),
        cases.record(law, outcome.failure, outcome.message, f"museum:{bug}", {}),
    )

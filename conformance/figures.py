"""How soon the laws find the bugs, over several seeds."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import msgspec

from conformance.smallest import MOST_EXAMPLES, Smallest

DEFINITION = (
    "Each bug has one law: of all laws that come to what it breaks, the one that fails on the largest share of the"
    " inputs of the first glance. It alone is run on the bug, with seeds that the choice has not seen, each until the"
    f" first failure or {MOST_EXAMPLES} examples. A figure is over all bugs and seeds. Examples: the number of the"
    f" first that fails, {MOST_EXAMPLES + 1} where none does. Seconds: wall time of the whole search, shrinking"
    " included."
)


class Figures(msgspec.Struct, frozen=True):
    """Figures over all bugs and seeds; see ``definition``.

    Attributes:
        definition: what is measured.
        seeds: the seeds.
        searches: number of searches, one per bug and seed.
        missed: bugs that a search did not find, with the seed: ``MB-12 at seed 3``.
        slowest: the bug that took the most examples.
    """

    definition: str
    seeds: tuple[int, ...]
    searches: int
    missed: tuple[str, ...]
    median_examples: float
    maximum_examples: int
    slowest: str
    median_seconds: float
    maximum_seconds: float
    median_cpu_seconds: float


def figures(searches: Sequence[Smallest]) -> Figures | None:
    """Sum up searches; None when there are none."""
    if not searches:
        return None
    examples = [_examples(search) for search in searches]
    seconds = [search.seconds for search in searches]
    return Figures(
        definition=DEFINITION,
        seeds=tuple(sorted({search.seed for search in searches})),
        searches=len(searches),
        missed=tuple(f"{search.bug} at seed {search.seed}" for search in searches if search.examples is None),
        median_examples=statistics.median(examples),
        maximum_examples=max(examples),
        slowest=max(searches, key=_examples).bug,
        median_seconds=round(statistics.median(seconds), 4),
        maximum_seconds=max(seconds),
        median_cpu_seconds=round(statistics.median(search.cpu_seconds for search in searches), 4),
    )


def _examples(search: Smallest) -> int:
    return MOST_EXAMPLES + 1 if search.examples is None else search.examples

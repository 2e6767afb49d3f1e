"""Examples drawn as Hypothesis draws them, none of them made of parts of an earlier one."""

from __future__ import annotations

from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, HypothesisProvider


class Unmutated(HypothesisProvider):
    """Hypothesis repeats parts of earlier examples under its own provider only.

    That looks for failures near an example. Where thousands of inputs are to be seen once each it costs a third of the
    time, and up to one example in seven is one that was there before.
    """


BACKEND = "unmutated"
AVAILABLE_PROVIDERS[BACKEND] = f"{Unmutated.__module__}.{Unmutated.__qualname__}"

"""Laws and bugs against each other, on inputs that are drawn once per law."""

from __future__ import annotations

from collections.abc import Iterable

from properties.law import Inputs, Law, Verdict, catalogue
from properties.museum import Bug, museum
from properties.tracing import drawn
from reference_impl.reference import ReferenceImplementation

LAWS = catalogue()
BUGS = museum()
GLANCE, SEARCH = 10, 50
"""Examples of every law that are tried first, and at most: those of the profile ``pr``."""


def first_catch(pairs: Iterable[tuple[Law, Bug]], most: int = SEARCH) -> str | None:
    """The first law that a bug breaks: all at a glance, then all after a search."""
    remaining = list(pairs)
    for start, end in ((0, GLANCE), (GLANCE, most)):
        for law, bug in remaining:
            for number, inputs in enumerate(drawn(law.key, SEARCH)[start:end], start + 1):
                if breaks(law, bug, inputs):
                    return f"{law.key} catches {bug.id} at example {number}"
    return None


def reference_for(law: Law) -> ReferenceImplementation:
    """The reference, declaring the policy that the law belongs to."""
    reference = ReferenceImplementation()
    reference.policies = reference.policies.declaring(law.policy)
    return reference


def breaks(law: Law, bug: Bug, inputs: Inputs) -> bool:
    """Whether a bug breaks a law on one input."""
    outcome = law.replay(bug.implementation(), inputs)
    assert outcome.verdict is not Verdict.HARNESS_ERROR, f"{law.key} on {bug.id}: {outcome.message}"
    return outcome.verdict is Verdict.FAILED


def nearest_first(law: Law, bug: Bug) -> int:
    """Laws that need the broken operation itself come before those that only come to it."""
    return 0 if law.needs & bug.overrides else 1

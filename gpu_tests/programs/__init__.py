"""What runs on every rank. A target is named, not sent: real software cannot be pickled."""

from __future__ import annotations

from functools import cache

from conformance.targets.loading import load
from reference_impl.interface import Implementation


@cache
def implementation_of(target: str) -> Implementation:
    """The implementation that a target specification names; one per process."""
    return load(target)

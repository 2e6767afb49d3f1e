"""What the museum keeps of a bug."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from reference_impl.interface import Implementation, Op
from reference_impl.reference import ReferenceImplementation


@dataclass(frozen=True)
class Bug:
    """One known bug.

    Attributes:
        id: id in the bug corpus (``MB-12``).
        area: the part of packing that it lives in, in the corpus's words.
        suffered: what users suffered, in one sentence.
        source: where it was found and mended.
        text: what is wrong, in our own words.
        implementation: the reference with the bug.
    """

    id: str
    area: str
    suffered: str
    source: str
    text: str
    implementation: type[Implementation]

    @cached_property
    def overrides(self) -> frozenset[Op]:
        """The operations that are broken directly."""
        return frozenset(
            op for op in Op if getattr(self.implementation, op) is not getattr(ReferenceImplementation, op)
        )


_registered: dict[str, Bug] = {}


def bug[T: type[Implementation]](id: str, *, area: str, suffered: str, source: str) -> Callable[[T], T]:
    """Register a broken implementation.

    Raises:
        ValueError: the id is taken.
    """

    def decorate(implementation: T) -> T:
        if id in _registered:
            raise ValueError(f"bug {id} exists already: {_registered[id].implementation.__name__}")
        text = (implementation.__doc__ or "").strip()
        _registered[id] = Bug(id, area, suffered, source, text, implementation)
        return implementation

    return decorate


def registered() -> Mapping[str, Bug]:
    """Bugs imported so far, by id."""
    return {id: _registered[id] for id in sorted(_registered)}

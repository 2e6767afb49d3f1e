"""``Package``: a target that is a distribution on this machine's import path."""

from __future__ import annotations

import importlib.metadata
from typing import ClassVar

from conformance.targets.modules import torch
from reference_impl.interface import Implementation


class Package(Implementation):
    """What all distributions tell of themselves.

    Attributes:
        name: of the distribution.
        beside: distributions that its packing calls, whose releases are told with its own.
        stand_ins: what is stood in for.
    """

    name: ClassVar[str]
    beside: ClassVar[tuple[str, ...]] = ()
    stand_ins: ClassVar[tuple[str, ...]] = ()

    @property
    def versions(self) -> dict[str, str]:
        """Releases of what is measured."""
        beside = {name: importlib.metadata.version(name) for name in self.beside}
        return {self.name: self._release(), "torch": str(torch().__version__), **beside}

    def _release(self) -> str:
        return importlib.metadata.version(self.name)

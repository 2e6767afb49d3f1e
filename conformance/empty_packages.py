"""Import single files of a package whose own imports cannot run here.

``import package`` may load shared libraries or a whole training stack that a file inside it does not need. The files
named are loaded as they are, their parent packages are empty, and every other module of the package is a stand-in, so
that touching one is *not supported*.
"""

from __future__ import annotations

import importlib.machinery
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from types import ModuleType

from conformance import stand_ins


class _Empty(Loader):
    """A package that is a place for its modules, and nothing else."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """As usual."""

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run."""


class _Finder(MetaPathFinder):
    """Finds the files of ``real``; everything else under ``roots`` is a stand-in."""

    def __init__(self, roots: frozenset[str], real: tuple[str, ...]) -> None:
        self._roots = roots
        self._real = real

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Where a module comes from."""
        if fullname.partition(".")[0] not in self._roots:
            return None
        if fullname in self._real:
            return importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if not any(name.startswith(f"{fullname}.") for name in self._real):
            return stand_ins.specification(fullname)
        found = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if found is None:
            return None
        spec = importlib.machinery.ModuleSpec(fullname, _Empty(), is_package=True)
        spec.submodule_search_locations = found.submodule_search_locations
        return spec


def activate(roots: frozenset[str], real: tuple[str, ...]) -> None:
    """Let the files ``real`` be imported alone.

    Args:
        roots: top-level packages that are emptied.
        real: modules that are loaded from their files.
    """
    sys.meta_path.insert(0, _Finder(roots, real))

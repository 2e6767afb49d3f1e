"""Import one file of TransformerEngine where its CUDA libraries are missing.

``import transformer_engine`` loads shared libraries, and every module of ``transformer_engine.pytorch`` the compiled
extension. The helpers that slice batches for context parallelism need neither. Their file is therefore loaded as it
is; its parent packages are empty, and what it imports is stood in for, so that touching a kernel is *not supported*.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.metadata
import os
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from types import ModuleType
from typing import Any

from conformance import stand_ins
from conformance.isolation import quiet

ROOT = "transformer_engine"
HELPERS = "transformer_engine.pytorch.attention.dot_product_attention.context_parallel"
REAL = (HELPERS, "transformer_engine.pytorch.jit", "transformer_engine.pytorch.torch_version")
"""Modules that are loaded from their files; ``jit`` leaves functions as they are when compiling is switched off."""


class _Empty(Loader):
    """A package that is a place for its modules, and nothing else."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """As usual."""

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run."""


class _Finder(MetaPathFinder):
    """Finds the files of ``REAL``; everything else of TransformerEngine is a stand-in."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Where a module of TransformerEngine comes from."""
        if fullname.partition(".")[0] not in {ROOT, "transformer_engine_torch"}:
            return None
        if fullname in REAL:
            return importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if not any(name.startswith(f"{fullname}.") for name in REAL):
            return stand_ins.specification(fullname)
        found = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if found is None:
            return None
        spec = importlib.machinery.ModuleSpec(fullname, _Empty(), is_package=True)
        spec.submodule_search_locations = found.submodule_search_locations
        return spec


def helpers() -> Any:
    """The module of helpers.

    Raises:
        ModuleNotFoundError: TransformerEngine is not installed.
    """
    if HELPERS in sys.modules:
        return sys.modules[HELPERS]
    os.environ["NVTE_TORCH_COMPILE"] = "0"  # its own switch
    sys.meta_path.insert(0, _Finder())
    with quiet():
        return importlib.import_module(HELPERS)


def version() -> str:
    """Release of the TransformerEngine on the import path."""
    return importlib.metadata.version("transformer-engine")

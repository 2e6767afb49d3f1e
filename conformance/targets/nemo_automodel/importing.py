"""Import four files of NeMo AutoModel, whose packages import its whole training stack."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import Any

from conformance import empty_packages
from conformance.isolation import quiet

ROOT = "nemo_automodel"
KNAPSACK = f"{ROOT}.components.datasets.llm.neat_packing"
SEQUENTIAL = f"{ROOT}.components.datasets.llm.packed_sequence"
COLLATERS = f"{ROOT}.components.datasets.utils"
THD = f"{ROOT}.components.distributed.thd_utils"
REAL = (KNAPSACK, SEQUENTIAL, COLLATERS, THD, f"{ROOT}.components.datasets.packing")


def activate() -> None:
    """Make the files importable; calling it again is free.

    Raises:
        ModuleNotFoundError: NeMo AutoModel is not installed.
    """
    if ROOT in sys.modules:
        return
    if importlib.util.find_spec(ROOT) is None:
        raise ModuleNotFoundError(f"No module named '{ROOT}'", name=ROOT)
    empty_packages.activate(frozenset({ROOT}), REAL)
    for name in (KNAPSACK, SEQUENTIAL, COLLATERS, THD):
        part(name)


def part(name: str) -> Any:
    """One of the files as a module."""
    with quiet():
        return importlib.import_module(name)

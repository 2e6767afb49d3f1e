"""Import one file of TransformerEngine where its CUDA libraries are missing.

``import transformer_engine`` loads shared libraries, and every module of ``transformer_engine.pytorch`` the compiled
extension. The helpers that slice batches for context parallelism need neither. Their file is therefore loaded as it
is; its parent packages are empty, and what it imports is stood in for, so that touching a kernel is *not supported*.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

from conformance import empty_packages
from conformance.isolation import quiet

ROOTS = frozenset({"transformer_engine", "transformer_engine_torch"})
HELPERS = "transformer_engine.pytorch.attention.dot_product_attention.context_parallel"
REAL = (HELPERS, "transformer_engine.pytorch.jit", "transformer_engine.pytorch.torch_version")
"""Modules that are loaded from their files; ``jit`` leaves functions as they are when compiling is switched off."""


def helpers() -> Any:
    """The module of helpers.

    Raises:
        ModuleNotFoundError: TransformerEngine is not installed.
    """
    if HELPERS in sys.modules:
        return sys.modules[HELPERS]
    os.environ["NVTE_TORCH_COMPILE"] = "0"  # its own switch
    empty_packages.activate(ROOTS, REAL)
    with quiet():
        return importlib.import_module(HELPERS)

"""The laws, by area."""

from __future__ import annotations

import importlib
import pkgutil


def load() -> None:
    """Import every module of laws, which registers them."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")

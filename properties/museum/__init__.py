"""Known bugs, re-created: each is the reference with one operation broken.

A bug tells what happened and to whom; which law catches it is measured, never written down.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache

from properties.museum.bug import Bug, bug, registered

__all__ = ["Bug", "bug", "museum"]


def museum() -> Mapping[str, Bug]:
    """Every bug by id, in order."""
    _load()
    return registered()


@cache
def _load() -> None:
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")

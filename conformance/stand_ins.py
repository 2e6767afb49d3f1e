"""Modules that stand in for dependencies which the packing code imports but never calls.

Only the packages named in ``STANDABLE`` can be stood in for, and only when they are not installed. Names of a stand-in
can be imported, annotated with and subclassed; calling one raises ``NotSupported``, so that nothing is ever measured
on a fake.
"""

from __future__ import annotations

import importlib.machinery
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from types import ModuleType
from typing import NoReturn

from reference_impl.errors import NotSupported

STANDABLE: tuple[str, ...] = ("modelopt",)
"""Packages that Bridge's training and data modules import at their head and use only for distillation and export."""


class _StandInType(type):
    """A name of a stand-in: a class whose attributes are names again."""

    def __getattr__(cls, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return stand_in(f"{cls.__module__}.{cls.__qualname__}", name)

    def __call__(cls, *_arguments: object, **_keywords: object) -> NoReturn:
        raise NotSupported(f"this needs {cls.__module__}.{cls.__qualname__}, which is not installed here")


def stand_in(module: str, name: str) -> type:
    """A class that can be named and subclassed, not called."""
    return _StandInType(name, (), {"__module__": module})


class _StandInModule(ModuleType):
    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return stand_in(self.__name__, name)


class _Loader(Loader):
    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _StandInModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run."""


class StandIns(MetaPathFinder):
    """Serves the packages of ``STANDABLE`` that no other finder knows; stands last on ``sys.meta_path``."""

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """A specification for a name under ``STANDABLE``; every module counts as a package."""
        if fullname.partition(".")[0] not in STANDABLE:
            return None
        return importlib.machinery.ModuleSpec(fullname, _Loader(), is_package=True)


def in_use() -> tuple[str, ...]:
    """Packages whose stand-in was imported so far."""
    return tuple(name for name in STANDABLE if isinstance(sys.modules.get(name), _StandInModule))

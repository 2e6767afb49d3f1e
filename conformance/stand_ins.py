"""Modules that stand in for dependencies which the packing code imports but never calls.

Only the packages and modules named in ``STANDABLE`` can be stood in for, and only when they are not installed; those
of ``NEED_TRANSFORMER_ENGINE``, where TransformerEngine is absent. Names of a stand-in can be imported, annotated with
and subclassed; calling one raises ``NotSupported``, so that nothing is ever measured on a fake.
"""

from __future__ import annotations

import importlib.machinery
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from types import ModuleType
from typing import NoReturn

from reference_impl.errors import NotSupported

STANDABLE: tuple[str, ...] = ("modelopt", "megatron.energon")
"""Packages that Bridge's training and data modules import at their head.

They use ``modelopt`` for distillation and export only, and ``megatron.energon`` for its own multimodal data sets.
"""

NEED_TRANSFORMER_ENGINE: tuple[str, ...] = ("megatron.bridge.peft.lora_layers",)
"""Modules of Bridge that cannot be imported without TransformerEngine, and that other modules import at their head.

From 0.6 on the training steps import LoRA layers to tell them apart when they count FLOPs.
"""


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
    """Serves the modules of ``STANDABLE`` that no other finder knows; stands last on ``sys.meta_path``."""

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """A specification for a name under ``STANDABLE``; every module counts as a package."""
        if not any(fullname == name or fullname.startswith(name + ".") for name in STANDABLE):
            return None
        return specification(fullname)


def specification(fullname: str) -> importlib.machinery.ModuleSpec:
    """How a stand-in is loaded."""
    return importlib.machinery.ModuleSpec(fullname, _Loader(), is_package=True)


def in_use() -> tuple[str, ...]:
    """Packages and modules whose stand-in was imported so far."""
    names = (*STANDABLE, *NEED_TRANSFORMER_ENGINE)
    return tuple(name for name in names if isinstance(sys.modules.get(name), _StandInModule))

"""Import Megatron Bridge where its full stack is missing.

``megatron.bridge`` imports every model at its root, and the models need TransformerEngine, which cannot be imported
without CUDA libraries. The packing code itself is plain Python. ``activate`` therefore makes the packages under
``megatron.bridge`` *lazy*: the ``__init__`` of a package that only gathers names is read, not run, and each name is
imported from its module on first use. Modules and submodules are the real ones and are imported as usual.
"""

from __future__ import annotations

import ast
import importlib
import importlib.machinery
import importlib.metadata
import importlib.util
import logging
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.abc import MetaPathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from conformance import cuda_stand_in as cuda
from conformance import stand_ins

ROOT = "megatron.bridge"
ABSENT = ("transformer_engine", "transformer_engine.pytorch", "transformer_engine_torch")


class IsolationError(Exception):
    """Megatron Bridge cannot be imported as asked."""


@dataclass(frozen=True)
class Imported:
    """How Megatron Bridge got into this process.

    Attributes:
        how: ``"plain"`` where the whole stack is installed, otherwise ``"isolated"``.
        stand_ins: packages that were stood in for, because the packing code imports them without calling them.
        versions: versions by distribution name.
        location: folder of ``megatron.bridge``.
        replaced: what the CUDA stand-in replaced; empty without it.
    """

    how: Literal["plain", "isolated"]
    stand_ins: tuple[str, ...]
    versions: Mapping[str, str]
    location: Path
    replaced: tuple[str, ...] = ()


@dataclass
class _State:
    how: Literal["plain", "isolated"]
    versions: Mapping[str, str]
    location: Path
    replaced: tuple[str, ...] = ()


_state: _State | None = None


def activate(source: Path | None = None, cuda_stand_in: bool = False) -> Imported:
    """Make ``megatron.bridge`` importable in this process; calling it again is free.

    Args:
        source: ``src`` folder of a checkout whose ``megatron.bridge`` is wanted; ``None`` takes the first one on the
            path. ``megatron.core`` always comes from the path.
        cuda_stand_in: without a GPU, also let ``tensor.cuda()`` and its like leave tensors on the CPU.

    Raises:
        IsolationError: there is no Megatron Bridge, or another one is imported already.
    """
    global _state  # noqa: PLW0603  (imports are global, and so is this)
    wanted = source.resolve() if source else None
    if _state is None:
        _state = _import(wanted)
    elif wanted and not _state.location.is_relative_to(wanted):
        raise IsolationError(
            f"megatron.bridge of {_state.location} is imported already; start a new process for the one of {wanted}"
        )
    if cuda_stand_in and not _state.replaced:
        _state.replaced = cuda.activate()
    return Imported(_state.how, stand_ins.in_use(), _state.versions, _state.location, _state.replaced)


def _import(source: Path | None) -> _State:
    if ROOT in sys.modules:
        raise IsolationError(f"{ROOT} was imported before; call conformance.isolation.activate() first")
    if source:
        if not (source / "megatron" / "bridge").is_dir():
            raise IsolationError(
                f"{source} holds no megatron/bridge; name the src folder of a Megatron Bridge checkout"
            )
        sys.path.insert(0, str(source))
        importlib.invalidate_caches()
    with quiet(), _unlogged():
        plain = has_transformer_engine()
        if not plain:
            for name in ABSENT:
                sys.modules[name] = None  # pyright: ignore[reportArgumentType]  (the documented way to bar an import)
        try:
            importlib.import_module("megatron.core")
            if not plain:
                sys.meta_path.insert(0, _LazyFinder())
                sys.meta_path.append(stand_ins.StandIns())
            bridge = importlib.import_module(ROOT)
        except ModuleNotFoundError as error:
            raise IsolationError(
                f"Megatron Bridge cannot be imported: {error}; install it with pip install 'packproof[bridge]'"
            ) from error
        return _State("plain" if plain else "isolated", _versions(), Path(bridge.__path__[0]).resolve())


def has_transformer_engine() -> bool:
    """Whether TransformerEngine works here; installed without its CUDA libraries, it does not."""
    if importlib.util.find_spec("transformer_engine") is None:
        return False
    try:
        importlib.import_module("transformer_engine.pytorch")
    except Exception:
        for name in [name for name in sys.modules if name.partition(".")[0].startswith("transformer_engine")]:
            del sys.modules[name]
        return False
    return True


def _versions() -> dict[str, str]:
    """Versions as the imported code states them: metadata of an installed release would not know of a checkout."""
    named = {"megatron-bridge": "megatron.bridge.package_info", "megatron-core": "megatron.core.package_info"}
    # Both append the commit of whatever repository the current folder is in.
    versions = {name: importlib.import_module(module).__version__.partition("+")[0] for name, module in named.items()}
    return versions | {"torch": importlib.metadata.version("torch")}


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the warnings of foreign code from becoming errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def _unlogged() -> Iterator[None]:
    """Keep what foreign imports log about this machine off the screen."""
    level = logging.root.manager.disable
    logging.disable(max(level, logging.WARNING))
    try:
        yield
    finally:
        logging.disable(level)


@dataclass(frozen=True)
class _Exports:
    """What the ``__init__`` of a package would bind.

    Attributes:
        names: module and attribute of each imported name; no attribute means the module itself.
        stars: modules whose every name is imported.
        fallback: the package's own module-level ``__getattr__``.
    """

    names: Mapping[str, tuple[str, str | None]] = field(default_factory=dict[str, tuple[str, str | None]])
    stars: tuple[str, ...] = ()
    fallback: Callable[[str], Any] | None = None


class _LazyPackage(ModuleType):
    """A package whose names are imported on first use."""

    def __getattr__(self, name: str) -> Any:
        exports: _Exports = self.__dict__["__exports__"]
        if name in exports.names:
            value = _resolve(*exports.names[name])
        elif name.startswith("__"):
            raise AttributeError(name)
        else:
            value = self._from_elsewhere(name, exports)
        self.__dict__[name] = value
        return value

    def __setattr__(self, name: str, value: object) -> None:
        """Bind a name; importing a submodule does not hide a name of the same spelling that the package exports."""
        exports: _Exports = self.__dict__["__exports__"]
        if name in exports.names and name not in self.__dict__ and value is sys.modules.get(f"{self.__name__}.{name}"):
            return
        super().__setattr__(name, value)

    def _from_elsewhere(self, name: str, exports: _Exports) -> Any:
        if exports.fallback:
            try:
                return exports.fallback(name)
            except AttributeError:
                pass
        if exports.stars and importlib.util.find_spec(f"{self.__name__}.{name}") is None:
            for star in exports.stars:
                module = importlib.import_module(star)
                if hasattr(module, name):
                    return getattr(module, name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


def _resolve(module: str, attribute: str | None) -> Any:
    with quiet():
        owner = importlib.import_module(module)
        if attribute is None:
            return owner
        try:
            return getattr(owner, attribute)
        except AttributeError:
            try:
                return importlib.import_module(f"{module}.{attribute}")
            except ModuleNotFoundError:
                pass
            raise


class _LazyLoader(importlib.machinery.SourceFileLoader):
    """Reads a package's ``__init__`` instead of running it; runs every other module, without its warnings."""

    def exec_module(self, module: ModuleType) -> None:
        exports = _read(self, module.__name__) if self.is_package(module.__name__) else None
        if exports is None:
            with quiet():
                super().exec_module(module)
            return
        module.__dict__["__exports__"] = exports
        module.__class__ = _LazyPackage


def _read(loader: importlib.machinery.SourceFileLoader, package: str) -> _Exports | None:
    """Exports of a package whose ``__init__`` only gathers names; None where it does more and has to run."""
    tree = ast.parse(loader.get_source(package) or "")
    names: dict[str, tuple[str, str | None]] = {}
    stars: list[str] = []
    fallback: ast.FunctionDef | None = None
    for statement in tree.body:
        match statement:
            case ast.Import():
                names |= {alias.asname: (alias.name, None) for alias in statement.names if alias.asname}
            case ast.ImportFrom():
                module = importlib.util.resolve_name("." * statement.level + (statement.module or ""), package)
                stars += [module for alias in statement.names if alias.name == "*"]
                names |= {
                    alias.asname or alias.name: _origin(module, alias.name, package)
                    for alias in statement.names
                    if alias.name != "*" and statement.module != "__future__"
                }
            case ast.FunctionDef(name="__getattr__"):
                fallback = statement
            case ast.Assign(targets=[ast.Name(id="__all__")]) | ast.Expr(value=ast.Constant()):
                pass
            case _:
                return None
    return _Exports(names, tuple(stars), _compile(fallback, package) if fallback else None)


def _origin(module: str, name: str, package: str) -> tuple[str, str | None]:
    """Module and attribute of ``from module import name``; from the package itself only its submodules can come."""
    return (f"{module}.{name}", None) if module == package else (module, name)


def _compile(function: ast.FunctionDef, package: str) -> Callable[[str], Any]:
    namespace: dict[str, Any] = {"__name__": package, "__package__": package}
    code = compile(ast.Module([function], []), f"<{package}>", "exec")
    exec(code, namespace)  # noqa: S102  (the package's own function)
    return namespace["__getattr__"]


class _LazyFinder(MetaPathFinder):
    """Finds ``megatron.bridge`` and what is under it as usual, and loads it lazily."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The usual specification with the loader exchanged."""
        if fullname != ROOT and not fullname.startswith(ROOT + "."):
            return None
        if fullname in stand_ins.NEED_TRANSFORMER_ENGINE:
            return stand_ins.specification(fullname)
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _LazyLoader(fullname, spec.loader.path)
        return spec

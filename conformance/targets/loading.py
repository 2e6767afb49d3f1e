"""From a target specification to an implementation.

A process holds one release of Megatron Bridge. ``megatron-bridge==V`` therefore only says what the import path of
this process was made for (``conformance.overlays``), and is checked.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.metadata
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from conformance.isolation import IsolationError
from conformance.recordings import RecordingError
from conformance.targets.command import Command, CommandError
from conformance.targets.duck_typed import DuckTyped
from conformance.targets.megatron_bridge import MegatronBridge
from conformance.targets.megatron_core import MegatronCore
from conformance.targets.nemo_automodel import NemoAutomodel
from conformance.targets.package import Package
from conformance.targets.recording import Recording
from conformance.targets.transformer_engine import TransformerEngine
from conformance.targets.trl import Trl
from properties.museum import museum
from reference_impl.interface import Implementation, Op
from reference_impl.reference import ReferenceImplementation

BRIDGE = "megatron-bridge"
CORE = "megatron-core"
ENGINE = "transformer-engine"
TRL = "trl"
AUTOMODEL = "nemo-automodel"
PACKAGES = (BRIDGE, CORE, ENGINE, TRL, AUTOMODEL)
"""Targets of which releases can be fetched."""

EXAMPLES = {CORE: "0.18.2", ENGINE: "2.17.1", TRL: "1.16.0", AUTOMODEL: "0.7.0"}
"""A release of each that is known to work."""

_ADAPTERS = {CORE: MegatronCore, ENGINE: TransformerEngine, TRL: Trl, AUTOMODEL: NemoAutomodel}

KNOWN: Mapping[str, str] = {
    "reference": "the specification itself",
    "reference:OPERATION,...": "a part of it",
    BRIDGE: "the installed Megatron Bridge",
    f"{BRIDGE}==VERSION": "a release of Megatron Bridge, fetched into a cache",
    f"{BRIDGE}@DIR": "a checkout of Megatron Bridge",
    CORE: "the installed Megatron-Core",
    f"{CORE}==VERSION": "Megatron-Core: packed-sequence parameters, rotary rows, multi-token prediction, schedules",
    ENGINE: "the installed TransformerEngine",
    f"{ENGINE}==VERSION": "TransformerEngine: its context-parallel helpers, without kernels",
    TRL: "the installed TRL",
    f"{TRL}==VERSION": "TRL: its bin packing and its padding-free collator",
    AUTOMODEL: "the installed NeMo AutoModel",
    f"{AUTOMODEL}==VERSION": "NeMo AutoModel: its packing, its THD collater and boundaries",
    "command:PROGRAM": "a program that speaks packproof's protocol, with its arguments",
    "module:pkg.mod:Class": "your class, an Implementation or any with methods named after operations",
    "museum:ID": "the re-created bug ID",
    "recording:DIR": "what a target answered elsewhere, such as on a GPU; see gpu_tests/README.md",
}
"""Forms of target specifications and what they mean."""


class TargetError(Exception):
    """A target cannot be loaded; one sentence with the way out."""


@dataclass(frozen=True)
class TargetSpec:
    """A target specification, taken apart.

    Attributes:
        kind: ``reference``, one of ``PACKAGES``, ``command``, ``module``, ``museum`` or ``recording``.
        version: wanted release, None for whatever is there.
        location: folder of a checkout or recording, ``pkg.mod:Class``, id of a bug, program, or names of operations.
    """

    kind: str
    version: str | None = None
    location: str | None = None


@dataclass(frozen=True)
class Description:
    """What a loaded target is.

    Attributes:
        name: name of the software or class.
        version: its release, "" when it has none.
        versions: releases of everything that was measured, by distribution name.
        imported: how it came into the process.
        stand_ins: packages and functions that were stood in for.
        operations: names of its operations.
        places: import path of each part that a release may have moved, by what it does.
        defaults: default of each setting, by part and name.
        policies: declared policies by name.
    """

    name: str
    version: str = ""
    versions: Mapping[str, str] = field(default_factory=dict[str, str])
    imported: str = "plain"
    stand_ins: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    places: Mapping[str, str] = field(default_factory=dict[str, str])
    defaults: Mapping[str, str] = field(default_factory=dict[str, str])
    policies: Mapping[str, str] = field(default_factory=dict[str, str])


def parse(target: str) -> TargetSpec:
    """Take a target specification apart.

    Raises:
        TargetError: it has none of the ``KNOWN`` forms.
    """
    kind, _, rest = target.partition(":")
    if kind == "module" and rest.count(":") == 1 and all(rest.split(":")):
        return TargetSpec(kind, location=rest)
    if kind in {"museum", "command", "reference", "recording"} and rest:
        return TargetSpec(kind, location=rest)
    if target in {"reference", *PACKAGES}:
        return TargetSpec(target)
    for separator in ("==", "@"):
        name, found, value = target.partition(separator)
        if name in PACKAGES and found and value and (separator == "==" or name == BRIDGE):
            return TargetSpec(name, version=value) if separator == "==" else TargetSpec(name, location=value)
    close = difflib.get_close_matches(target, ["reference", *PACKAGES], n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    raise TargetError(f"{target!r} is no target; {hint}known are {', '.join(KNOWN)}")


def load(target: str) -> Implementation:
    """The implementation that a target specification names.

    Raises:
        TargetError: it cannot be had.
    """
    spec = parse(target)
    match spec:
        case TargetSpec("reference"):
            return _reference(spec.location)
        case TargetSpec("museum", location=str(id)):
            return _bug(id)
        case TargetSpec("command", location=str(program)):
            return _command(program)
        case TargetSpec("module", location=str(location)):
            return _from_module(location)
        case TargetSpec("recording", location=str(folder)):
            return _recording(Path(folder))
        case TargetSpec(kind) if kind in _ADAPTERS:
            return _package(spec)
        case _:
            return _bridge(spec)


def adapt(implementation: object) -> Implementation:
    """An implementation from one, or from any object or class with methods named after operations."""
    made = implementation() if isinstance(implementation, type) else implementation
    return made if isinstance(made, Implementation) else DuckTyped(made)


def describe(implementation: Implementation) -> Description:
    """What a loaded target is."""
    operations = tuple(sorted(op.value for op in implementation.operations()))
    policies = implementation.policies.to_text()
    if isinstance(implementation, MegatronBridge):
        imported = implementation.imported
        return Description(
            name=BRIDGE,
            version=imported.versions[BRIDGE],
            versions=dict(imported.versions),
            imported=imported.how,
            stand_ins=(*imported.stand_ins, *imported.replaced),
            operations=operations,
            places=implementation.places,
            defaults=implementation.defaults,
            policies=policies,
        )
    if isinstance(implementation, Package):
        return Description(
            name=implementation.name,
            version=implementation.versions[implementation.name],
            versions=implementation.versions,
            imported="isolated" if implementation.stand_ins else "plain",
            stand_ins=implementation.stand_ins,
            operations=operations,
            policies=policies,
        )
    if isinstance(implementation, Command):
        hello = implementation.hello
        return Description(
            hello.name, hello.version, {hello.name: hello.version}, operations=operations, policies=policies
        )
    if isinstance(implementation, Recording):
        about = implementation.about
        name, version = f"recording of {about.get('target', 'a target')}", about.get("version", "")
        return Description(name, version, about, imported="recorded", operations=operations, policies=policies)
    if type(implementation) in {ReferenceImplementation, PartOfReference}:
        version = importlib.metadata.version("packproof")
        return Description("reference", version, {"packproof": version}, operations=operations, policies=policies)
    inner = implementation.inner if isinstance(implementation, DuckTyped) else implementation
    return Description(type(inner).__qualname__, operations=operations, policies=policies)


class PartOfReference(ReferenceImplementation):
    """The specification as far as some operations go."""

    def __init__(self, operations: frozenset[Op]) -> None:
        self._operations = operations

    def operations(self) -> frozenset[Op]:
        """Those that were asked for."""
        return self._operations


def _reference(names: str | None) -> Implementation:
    if names is None:
        return ReferenceImplementation()
    try:
        return PartOfReference(frozenset(Op(name) for name in names.split(",")))
    except ValueError as error:
        raise TargetError(f"{error}: the operations are {', '.join(op.value for op in Op)}") from error


def _bug(id: str) -> Implementation:
    bugs = museum()
    if id not in bugs:
        close = difflib.get_close_matches(id, bugs, n=3) or list(bugs)[:3]
        raise TargetError(f"the museum has no bug {id!r}; `packproof list bugs` shows all, such as {', '.join(close)}")
    return bugs[id].implementation()


def _command(program: str) -> Implementation:
    try:
        return Command(shlex.split(program))
    except (CommandError, ValueError) as error:
        raise TargetError(f"{error}; `packproof lint-command` tests a program's manners") from error


def _recording(folder: Path) -> Implementation:
    try:
        return Recording(folder)
    except RecordingError as error:
        raise TargetError(str(error)) from error


def _package(spec: TargetSpec) -> Implementation:
    try:
        made = _ADAPTERS[spec.kind]()
    except ImportError as error:
        raise TargetError(
            f"{spec.kind} cannot be imported: {error}; name a release, such as {spec.kind}=={EXAMPLES[spec.kind]}"
        ) from error
    version = made.versions[spec.kind]
    if spec.version not in {None, version}:
        raise TargetError(
            f"this process has {spec.kind} {version}, not {spec.version}; let `packproof run` fetch that release"
        )
    return made


def _bridge(spec: TargetSpec) -> Implementation:
    try:
        bridge = MegatronBridge(_source(Path(spec.location)) if spec.location else None)
    except IsolationError as error:
        raise TargetError(str(error)) from error
    except ImportError as error:
        raise TargetError(f"Megatron Bridge cannot be imported: {error}; install what it needs") from error
    version = bridge.imported.versions[BRIDGE]
    if spec.version not in {None, version}:
        raise TargetError(
            f"this process has megatron-bridge {version}, not {spec.version}; let `packproof run` fetch that release"
        )
    return bridge


def _source(folder: Path) -> Path:
    """The import folder of a checkout."""
    return folder / "src" if (folder / "src").is_dir() else folder


def _from_module(location: str) -> Implementation:
    module_name, _, class_name = location.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and (module_name == error.name or module_name.startswith(error.name + ".")):
            raise TargetError(
                f"there is no module {module_name!r} in {here} or the environment; "
                "run packproof in the folder that holds it, or install it"
            ) from error
        raise TargetError(f"module {module_name!r} cannot be imported: {error}; install what it needs") from error
    except (Exception, SystemExit) as error:
        raise TargetError(
            f"module {module_name!r} fails while it is imported ({_said(error)}); make it importable first"
        ) from error
    made = getattr(module, class_name, None)
    if not isinstance(made, type):
        classes = sorted(name for name, value in vars(module).items() if isinstance(value, type))
        close = difflib.get_close_matches(class_name, classes, n=1)
        hint = f"; did you mean {close[0]}?" if close else f"; its classes: {', '.join(classes) or 'none'}"
        raise TargetError(f"module {module_name!r} has no class {class_name!r}{hint}")
    try:
        return adapt(made)
    except (Exception, SystemExit) as error:
        raise TargetError(
            f"{class_name}() fails ({_said(error)}); a target is made without arguments, so give it a constructor "
            "that needs none"
        ) from error


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__

"""What a target answered, as small files that another machine can hold against laws of a later day.

A recording is a folder of safetensors files, one per law: arrays are its tensors, everything else is JSON in its
metadata. Nothing in it is executed.

    calls      operation, arguments, and the result or the error
    examples   the inputs that the law drew, by name
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import msgspec
import numpy as np

from conformance import cases
from conformance.protocol import UNSPEAKABLE, Kind, Trouble, types_of
from reference_impl.interface import Op

SCHEMA = 1
METADATA = "packproof recording"
SUFFIX = ".safetensors"

Array = np.ndarray[Any, Any]


class RecordingError(Exception):
    """A recording cannot be read or written; one sentence with the way out."""


class StoredCall(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One call of an operation.

    Attributes:
        operation: its name.
        arguments: as JSON values, arrays by the name of their tensor.
        result: the same; of no meaning where there is an error.
        error: what was raised instead.
    """

    operation: str
    arguments: list[Any]
    result: Any = None
    error: Trouble | None = None


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """What the metadata of one file hold.

    Attributes:
        about: what was recorded and where: ``target``, ``version``, ``device`` and releases by package.
        law: key of the law that asked.
        calls, examples: see the module's docstring.
        schema: of all this.
    """

    schema: int = SCHEMA
    about: dict[str, str]
    law: str
    calls: list[StoredCall]
    examples: list[dict[str, Any]]


@dataclass(frozen=True)
class Answered:
    """One recorded call, decoded.

    Attributes:
        operation: which one.
        arguments: of the call.
        result: what was returned, None where there is an error.
        error: what was raised instead.
    """

    operation: Op
    arguments: tuple[Any, ...]
    result: Any
    error: Trouble | None


class Packer:
    """Turns values of the interface into JSON values; arrays are put aside as tensors.

    Attributes:
        tensors: the arrays by name.
    """

    def __init__(self) -> None:
        self.tensors: dict[str, Array] = {}

    def pack(self, value: object) -> Any:
        """The JSON value of ``value``, which may change afterwards."""
        return msgspec.to_builtins(value, enc_hook=self._aside)

    def _aside(self, value: object) -> object:
        if not isinstance(value, np.ndarray):
            return cases.plain(value)
        name = str(len(self.tensors))
        self.tensors[name] = cast("Array", value).copy(order="C")
        return {"tensor": name}


def unpack(value: object, kind: Any, tensors: Mapping[str, Array]) -> Any:
    """A value of the interface from a JSON value.

    Raises:
        ValueError: it is no ``kind``, or a tensor is missing.
    """

    def array(kind: object, plain: object) -> Any:
        name = cast("dict[str, Any]", plain).get("tensor") if isinstance(plain, dict) else None
        if "ndarray" not in str(kind) or not isinstance(name, str) or name not in tensors:
            raise ValueError(f"{name!r} is no tensor of the file, or no {kind}")
        return tensors[name]

    return msgspec.convert(value, kind, dec_hook=array)


def write(path: Path, stored: Stored, tensors: Mapping[str, Array]) -> None:
    """Write one file, whole or not at all; the same content gives the same bytes.

    Raises:
        RecordingError: safetensors is missing, or the file cannot be written.
    """
    # One entry: safetensors writes several in any order.
    metadata = {METADATA: msgspec.json.encode(stored).decode()}
    try:
        cases.write_atomically(path, _numpy().save(dict(tensors), metadata))
    except OSError as error:
        raise RecordingError(f"{path} cannot be written: {error.strerror}") from error


def read(path: Path) -> tuple[Stored, dict[str, Array]]:
    """What ``write`` wrote. Arrays cannot be written to.

    Raises:
        RecordingError: safetensors is missing, or the file is cut short, foreign, or of another format.
    """
    safetensors = _safetensors()
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            metadata: dict[str, str] = file.metadata() or {}
            tensors: dict[str, Array] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no dict
    except (OSError, TypeError, ValueError, safetensors.SafetensorError) as error:
        raise RecordingError(f"{path} is no safetensors file, or is cut short: {_first_line(error)}") from error
    if METADATA not in metadata:
        raise RecordingError(
            f"{path} is no recording of laws, its metadata lack {METADATA!r}: name a folder that holds nothing else"
        )
    try:
        stored = msgspec.json.decode(metadata[METADATA], type=Stored)
    except msgspec.MsgspecError as error:
        raise RecordingError(f"{path} is a damaged recording: {error}; record it anew") from error
    if stored.schema != SCHEMA:
        raise RecordingError(f"{path} has schema {stored.schema}; this packproof reads schema {SCHEMA}")
    for array in tensors.values():
        array.setflags(write=False)
    return stored, tensors


def answered(call: StoredCall, tensors: Mapping[str, Array]) -> Answered:
    """A recorded call as the interface has it.

    Raises:
        ValueError: it is no call of the interface.
    """
    if call.operation not in set(Op) - UNSPEAKABLE:
        raise ValueError(f"{call.operation[:40]!r} is no operation that can be recorded")
    operation = Op(call.operation)
    kinds, result = types_of(operation)
    if len(kinds) != len(call.arguments):
        raise ValueError(f"{operation} takes {len(kinds)} arguments, here are {len(call.arguments)}")
    arguments = tuple(unpack(value, kind, tensors) for value, kind in zip(call.arguments, kinds, strict=True))
    if call.error is not None:
        if call.error.kind not in {Kind.REFUSED, Kind.ACCIDENT}:
            raise ValueError(f"an answer cannot be {call.error.kind}")
        return Answered(operation, arguments, None, call.error)
    return Answered(operation, arguments, unpack(call.result, result, tensors), None)


def _safetensors() -> Any:
    try:
        return importlib.import_module("safetensors")
    except ImportError as error:
        raise RecordingError("recordings need the package safetensors: pip install safetensors") from error


def _numpy() -> Any:
    _safetensors()
    return importlib.import_module("safetensors.numpy")


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]

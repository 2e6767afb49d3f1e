"""Counterexamples as small JSON files that outlive Hypothesis releases.

    {"schema": 1, "law": "THD-004", "facet": "no sentinel", "expected": "[0, 3, 8]", "got": "[]",
     "inputs": {"cu_seqlens": {"dtype": "int32", "data": [0, 3, 8]}}}

Inputs are decoded by the annotations of the law, so a case can be replayed on any target.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import msgspec
import numpy as np

from properties.claims import Broken, show
from properties.law import Failure, Law, catalogue, key_of
from reference_impl import rows_io

SCHEMA = 1


def slug(name: str) -> str:
    """A target specification or the key of a law as part of a file name."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-")


class CaseError(ValueError):
    """A case file that cannot be read, or that does not fit its law."""


class Case(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One recorded counterexample.

    Attributes:
        law, facet: which law it breaks.
        claim: the law's claim at the time.
        inputs: the law's inputs as plain JSON values.
        expected, got: what the claim asked for and what came, for people; None where the claim has no such value.
        message: the failure in words.
        target: target specification that it was found on.
        versions: releases of the target's packages.
    """

    schema: int = SCHEMA
    law: str
    facet: str = ""
    claim: str = ""
    inputs: dict[str, Any]
    expected: str | None = None
    got: str | None = None
    message: str = ""
    target: str = ""
    versions: dict[str, str] = {}

    @property
    def key(self) -> str:
        """Key of the law in the catalogue."""
        return key_of(self.law, self.facet)

    @property
    def file_name(self) -> str:
        """A file name that names the law."""
        return f"{slug(self.key)}.json"


def record(law: Law, failure: Failure, message: str, target: str, versions: Mapping[str, str]) -> Case:
    """Make a case of a failure."""
    error = failure.error
    values = error.values if isinstance(error, Broken) else {"got": error}
    return Case(
        law=law.id,
        facet=law.facet,
        claim=law.claim,
        inputs=to_plain(failure.inputs),
        expected=show(values["expected"]) if "expected" in values else None,
        got=show(values["got"]) if "got" in values else None,
        message=message,
        target=target,
        versions=dict(versions),
    )


def to_plain(inputs: Mapping[str, object]) -> dict[str, Any]:
    """Inputs of a law as JSON values."""
    return {name: plain(value) for name, value in inputs.items()}


def plain(value: object) -> Any:
    """Any value of the interface as JSON values."""
    return msgspec.to_builtins(value, enc_hook=_encode)


def from_plain(value: object, kind: Any) -> Any:
    """A value of the interface from JSON values.

    Raises:
        CaseError: it is no ``kind``.
    """
    try:
        return msgspec.convert(value, kind, dec_hook=_decode)
    except (msgspec.ValidationError, ValueError, TypeError) as error:
        raise CaseError(f"{str(value)[:80]} is no {getattr(kind, '__name__', kind)}: {error}") from error


def inputs_of(case: Case, law: Law) -> dict[str, object]:
    """Inputs of a case as the law's own types.

    Raises:
        CaseError: a name is missing or unknown, or a value does not fit.
    """
    types = law.input_types()
    if set(types) != set(case.inputs):
        raise CaseError(
            f"the case for {case.key} has the inputs {sorted(case.inputs)}, but the law takes {sorted(types)}:"
            " record it anew with `packproof run --report DIR`"
        )
    try:
        return {name: msgspec.convert(case.inputs[name], kind, dec_hook=_decode) for name, kind in types.items()}
    except (msgspec.ValidationError, ValueError, TypeError) as error:
        raise CaseError(f"the case for {case.key} does not fit its law: {error}") from error


def law_of(case: Case) -> Law:
    """The law that a case belongs to.

    Raises:
        CaseError: there is no such law.
    """
    law = catalogue().get(case.key)
    if law is None:
        raise CaseError(f"there is no law {case.key!r}: `packproof list laws` names them")
    return law


def read(path: Path) -> Case:
    """Read a case file.

    Raises:
        CaseError: the file is missing, is no case, or has another schema.
    """
    try:
        case = msgspec.json.decode(path.read_bytes(), type=Case)
    except OSError as error:
        raise CaseError(f"{path} cannot be read: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise CaseError(f"{path} is no case file: {error}") from error
    if case.schema != SCHEMA:
        raise CaseError(f"{path} has schema {case.schema}; this packproof reads schema {SCHEMA}")
    return msgspec.structs.replace(
        case, expected=_given("expected", case.expected, case.message), got=_given("got", case.got, case.message)
    )


def _given(name: str, value: str | None, message: str) -> str | None:
    """A value of a claim; older cases hold the word None where the claim, as its message shows, had no such value."""
    return None if value == "None" and f"{name:>10}: None" not in message.split("\n") else value


def write(case: Case, path: Path) -> None:
    """Write a case file, whole or not at all."""
    write_atomically(path, msgspec.json.format(msgspec.json.encode(case), indent=1) + b"\n")


def write_atomically(path: Path, content: bytes) -> None:
    """Write under a temporary name, then rename; missing folders are made.

    Raises:
        OSError: the file cannot be written; nothing is left behind.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    rows_io.write_atomically(path, lambda file: file.write(content))


def _encode(value: object) -> object:
    if isinstance(value, np.ndarray):
        array = cast("np.ndarray[Any, Any]", value)
        plain: dict[str, object] = {"dtype": str(array.dtype), "data": array.tolist()}
        if not array.size:
            plain["shape"] = list(array.shape)
        return plain
    if isinstance(value, np.generic):
        return cast("Any", value).item()
    if isinstance(value, range):  # a sequence of whole numbers, as operations take them
        return list(value)
    raise NotImplementedError(f"a case cannot hold {type(value).__name__}")


def _decode(kind: object, plain: object) -> Any:
    if "ndarray" not in str(kind) or not isinstance(plain, dict):
        raise ValueError(f"{plain!r} is no {kind}")
    fields = cast("dict[str, Any]", plain)
    dtype = str(fields.get("dtype"))
    if dtype not in {"int64", "int32", "bool", "float64", "float32"}:
        raise ValueError(f"an array of {dtype!r}")
    array: np.ndarray[Any, Any] = np.array(fields["data"], dtype=dtype)
    shape: tuple[int, ...] = tuple(fields.get("shape", array.shape))
    return array.reshape(shape)

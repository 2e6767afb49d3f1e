"""A failing example as a few lines of Python that need none of the test machinery."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, cast

import numpy as np

from properties.claims import Broken, show
from properties.law import Failure

MOST_LINES = 10


def snippet(failure: Failure, target: str) -> str:
    """The last call of a failing example, on the target, with what was expected of it.

    Args:
        failure: what a law found.
        target: target specification, such as ``module:my.pkg:MyPacker``.

    Returns:
        At most ten lines; "" when the example called nothing.
    """
    if not failure.calls:
        return ""
    call = failure.calls[-1]
    names: set[str] = set()
    arguments = ", ".join(source(argument, names) for argument in call.arguments)
    lines = _construction(target)
    modules = sorted({_home(name) for name in names if _home(name)})
    lines += [
        f"from {module} import {', '.join(sorted(name for name in names if _home(name) == module))}"
        for module in modules
    ]
    lines += [f"result = target.{call.op.value}({arguments})", "print(result)"]
    if isinstance(failure.error, Broken):
        lines.append(f"# {failure.error.sentence}")
        if "expected" in failure.error.values:
            lines.append(f"# expected: {_one_line(show(failure.error.values['expected']))}")
    else:
        lines.append(f"# raises {_one_line(show(failure.error))}")
    return "\n".join(lines[:MOST_LINES])


def source(value: object, names: set[str]) -> str:
    """Python source of plain data; the names it uses are added to ``names``."""
    if isinstance(value, np.ndarray):
        array = cast("np.ndarray[Any, Any]", value)
        names.add("array")
        return f"array({array.tolist()!r}, dtype={str(array.dtype)!r})"
    if isinstance(value, Enum):
        return repr(value.value)
    if isinstance(value, Path):
        names.add("Path")
        return f"Path({str(value)!r})"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names.add(type(value).__name__)
        fields = [
            f"{field.name}={source(getattr(value, field.name), names)}"
            for field in dataclasses.fields(value)
            if not _is_default(field, getattr(value, field.name))
        ]
        return f"{type(value).__name__}({', '.join(fields)})"
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return "{" + ", ".join(f"{source(key, names)}: {source(item, names)}" for key, item in items) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        inner = [source(item, names) for item in cast("Sequence[object]", value)]
        return f"({', '.join(inner)}{',' if len(inner) == 1 else ''})"
    return repr(value)


def _construction(target: str) -> list[str]:
    kind, _, rest = target.partition(":")
    module, _, name = rest.partition(":")
    if kind == "module" and name:
        return [f"from {module} import {name}", f"target = {name}()"]
    return ["from conformance.targets.loading import load", f"target = load({target!r})"]


def _home(name: str) -> str:
    """Module that a name of ``source`` is imported from."""
    from reference_impl import batches, config, documents, ranks  # noqa: PLC0415 - only a failure needs them

    if name == "array":
        return "numpy"
    if name == "Path":
        return "pathlib"
    return next((home.__name__ for home in (batches, config, documents, ranks) if name in vars(home)), "")


def _is_default(field: dataclasses.Field[Any], value: object) -> bool:
    if isinstance(value, np.ndarray):
        return False
    if field.default is not dataclasses.MISSING:
        return bool(field.default == value)
    return field.default_factory is not dataclasses.MISSING and field.default_factory() == value


def _one_line(text: str) -> str:
    return text.replace("\n", " ")[:160]

"""How a law says what it found: full sentences, with the expected and the actual value.

same(batch.labels, expected.labels, "the label of every slot is the next token of its document")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from reference_impl.errors import NotSupported

_NOTHING = object()

DELIBERATE = (ValueError, AssertionError, NotImplementedError, FileNotFoundError)
"""Errors that a target may raise on purpose; the others happen to it."""


class Broken(AssertionError):
    """A claim does not hold.

    Args:
        sentence: the claim, in the affirmative.
        got: what was there.
        expected: what the claim asks for, where one value can say it.

    Attributes:
        sentence: the claim.
        values: those of ``expected`` and ``got`` that were given, in this order.
    """

    def __init__(self, sentence: str, *, got: object = _NOTHING, expected: object = _NOTHING) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        named = {"expected": expected, "got": got}
        self.values: Mapping[str, object] = {name: value for name, value in named.items() if value is not _NOTHING}

    def __str__(self) -> str:
        lines = [f"does not hold: {self.sentence}"]
        lines += [f"{name:>10}: {show(value)}" for name, value in self.values.items()]
        return "\n".join(lines)


def show(value: object) -> str:
    """A value on one line; arrays as lists."""
    if isinstance(value, np.ndarray):
        array = cast("np.ndarray[Any, Any]", value)
        return np.array2string(array, separator=", ", threshold=64).replace("\n", "")
    if isinstance(value, BaseException):
        return f"{type(value).__name__}: {value}" if str(value) else f"{type(value).__name__} without a message"
    return repr(value)


def same(got: object, expected: object, sentence: str) -> None:
    """Claim that two values are equal; arrays by shape and element, whatever their dtype.

    Raises:
        Broken: they are not.
    """
    if isinstance(expected, np.ndarray) or isinstance(got, np.ndarray):
        equal = _equal_arrays(cast("Any", got), cast("Any", expected))
    else:
        equal = got == expected
    if not equal:
        raise Broken(sentence, got=cast("object", got), expected=cast("object", expected))


def _equal_arrays(got: Any, expected: Any) -> bool:
    return got is not None and expected is not None and np.array_equal(np.asarray(got), np.asarray(expected))


def near(got: object, expected: NDArray[np.float64], sentence: str) -> None:
    """Claim that a floating array has the expected shape and, but for rounding, the expected entries.

    The tolerance is 1e-10, or 64 times the resolution of the type of ``got`` where that is coarser: entries are of
    order 1, and at most some thirty of them are summed.

    Raises:
        Broken: it has not.
    """
    array = np.asarray(got)
    if not np.issubdtype(array.dtype, np.floating) or array.shape != expected.shape:
        raise Broken(sentence, got=got, expected=expected)
    tolerance = max(1e-10, 64 * float(np.finfo(array.dtype).eps))
    if not np.allclose(array, expected, rtol=0, atol=tolerance):
        raise Broken(sentence, got=array, expected=expected)


def holds(condition: object, sentence: str, *, got: object = _NOTHING, expected: object = _NOTHING) -> None:
    """Claim that a condition is true.

    Raises:
        Broken: it is not.
    """
    if not condition:
        raise Broken(sentence, got=got, expected=expected)


def is_deliberate(error: BaseException) -> bool:
    """Whether an error was raised to refuse an input: of a refusing type, and with a message."""
    return isinstance(error, DELIBERATE) and bool(str(error))


def refuses(call: Callable[[], object], sentence: str) -> None:
    """Claim that a call is refused with a deliberate error (``is_deliberate``), not with an accident or a result.

    Raises:
        Broken: the call returned, or failed by accident.
    """
    try:
        result = call()
    except NotSupported:
        raise
    except (Exception, SystemExit) as error:
        if is_deliberate(error):
            return
        raise Broken(sentence, got=error, expected="an error that names the offending value") from error
    _wrongly_accepted(sentence, result)


def _wrongly_accepted(sentence: str, result: object) -> NoReturn:
    raise Broken(sentence, got=result, expected="an error that names the offending value")

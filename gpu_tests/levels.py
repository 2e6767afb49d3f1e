"""How equal two results have to be: bitwise, calibrated or similar.

* *bitwise*: the same bits. For indices, metadata, copies and repeated runs.
* *calibrated*: within k times a measured noise floor, which is the error of a plain single-rank computation in the
  same dtype against one in float64. What exceeds it is not rounding.
* *similarity*: the same direction and size. For kernels whose intermediate precision is not ours to know.
"""

from __future__ import annotations

from enum import StrEnum

import torch
from torch import Tensor

from gpu_tests.tolerances import NOISE_MULTIPLE, SIMILAR_NORM, SIMILARITY, SMALLEST_FLOOR


class Level(StrEnum):
    """How equal."""

    BITWISE = "bitwise"
    CALIBRATED = "calibrated"
    SIMILARITY = "similarity"


def assert_equal(what: str, got: Tensor, expected: Tensor, level: Level, floor: float | None = None) -> None:
    """Raise unless ``got`` equals ``expected`` at ``level``.

    Args:
        what: name of the result, for the message.
        got: any shape; any dtype at the levels above bitwise.
        expected: the same shape; float64 at the calibrated level.
        level: how equal.
        floor: what ``noise_floor`` measured; needed at the calibrated level only.

    Raises:
        AssertionError: they differ; says by how much, where first, and how much is allowed.
        ValueError: the calibrated level came without a floor.
    """
    assert got.shape == expected.shape, f"{what}: shape {tuple(got.shape)}, expected {tuple(expected.shape)}"
    if not got.numel():
        return
    match level:
        case Level.BITWISE:
            _assert_bitwise(what, got, expected)
        case Level.CALIBRATED:
            if floor is None:
                raise ValueError(f"{what}: a calibrated comparison needs a measured noise floor")
            _assert_within(what, got.double(), expected.double(), NOISE_MULTIPLE.value * floor)
        case Level.SIMILARITY:
            _assert_similar(what, got.double().flatten(), expected.double().flatten())


def noise_floor(plain: Tensor, exact: Tensor) -> float:
    """Largest error of a plain computation in a dtype against the exact one, at least one rounding of the result.

    Args:
        plain: result in the dtype under test, computed on one rank without any cleverness.
        exact: the same result in float64.
    """
    if not exact.numel():
        return 0.0
    rounding = torch.finfo(plain.dtype).eps * exact.abs().max().item()
    return max((plain.double() - exact.double()).abs().max().item(), SMALLEST_FLOOR.value * rounding)


def _assert_bitwise(what: str, got: Tensor, expected: Tensor) -> None:
    assert got.dtype == expected.dtype, f"{what}: dtype {got.dtype}, expected {expected.dtype}"
    differs = _bits(got) != _bits(expected)
    assert not differs.any(), f"{what}: {_first(differs, got, expected)}; the same bits are expected"


def _bits(values: Tensor) -> Tensor:
    """The bytes of each entry, so that NaN equals itself and -0.0 does not equal 0.0."""
    flat = values.detach().cpu().contiguous()
    return flat.view(torch.uint8) if flat.dim() else flat.reshape(1).view(torch.uint8)


def _assert_within(what: str, got: Tensor, expected: Tensor, allowed: float) -> None:
    error = (got - expected).abs()
    differs = ~(error <= allowed)  # NaN differs
    assert not differs.any(), f"{what}: {_first(differs, got, expected)}; {allowed:.2e} is allowed"


def _first(differs: Tensor, got: Tensor, expected: Tensor) -> str:
    per_entry = differs if differs.shape == got.shape else differs.reshape(got.numel(), -1).any(dim=1)
    position = int(per_entry.flatten().nonzero()[0])
    count = int(per_entry.sum())
    place = tuple(int(index) for index in torch.unravel_index(torch.tensor(position), got.shape)) if got.dim() else ()
    one, other = got.flatten()[position].item(), expected.flatten()[position].item()
    return f"{count} of {got.numel()} entries differ, the first at {place}: {one!r} instead of {other!r}"


def _assert_similar(what: str, got: Tensor, expected: Tensor) -> None:
    norms = got.norm().item(), expected.norm().item()
    if norms == (0.0, 0.0):
        return
    cosine = torch.dot(got, expected).item() / max(norms[0] * norms[1], torch.finfo(torch.float64).tiny)
    assert cosine >= SIMILARITY.value, f"{what}: cosine {cosine:.6f}, at least {SIMILARITY.value} is expected"
    ratio = abs(norms[0] / norms[1] - 1)
    assert ratio <= SIMILAR_NORM.value, f"{what}: norm off by {ratio:.2%}, {SIMILAR_NORM.value:.0%} is allowed"

"""The three levels of equality accept what they should and refuse the rest."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from gpu_tests import tolerances
from gpu_tests.levels import Level, assert_equal, noise_floor
from gpu_tests.tolerances import NOISE_MULTIPLE, Tolerance

pytestmark = pytest.mark.suite("levels")

VALUES = torch.linspace(-1, 1, 64)


def test_bitwise_accepts_nan_in_the_same_place() -> None:
    """A NaN equals itself: what counts is whether two runs gave the same bits."""
    values = VALUES.clone()
    values[3] = torch.nan
    assert_equal("values", values.clone(), values, Level.BITWISE)


@pytest.mark.parametrize(
    "other",
    [VALUES.nextafter(torch.tensor(9.0)), VALUES.double(), VALUES.masked_fill(VALUES > 0.99, torch.nan)],
    ids=["one unit in the last place", "another dtype", "one NaN"],
)
def test_bitwise_refuses_what_is_merely_close(other: torch.Tensor) -> None:
    """The smallest difference is one."""
    with pytest.raises(AssertionError, match="values"):
        assert_equal("values", other, VALUES, Level.BITWISE)


def test_bitwise_tells_the_zeros_apart() -> None:
    """-0.0 comes from another computation than 0.0."""
    with pytest.raises(AssertionError, match="1 of 1 entries differ"):
        assert_equal("zero", torch.tensor(-0.0), torch.tensor(0.0), Level.BITWISE)


def test_bitwise_names_the_first_difference() -> None:
    """The message says where, what and how many."""
    other = torch.zeros(2, 3)
    other[1, 2] = 5.0
    with pytest.raises(AssertionError, match=r"1 of 6 entries differ, the first at \(1, 2\): 5.0 instead of 0.0"):
        assert_equal("values", other, torch.zeros(2, 3), Level.BITWISE)


@pytest.mark.parametrize(("floors", "accepted"), [(0.9, True), (1.1, False)])
def test_calibrated_allows_so_many_noise_floors(floors: float, accepted: bool) -> None:
    """The border lies at ``NOISE_MULTIPLE`` floors."""
    floor = 1e-3
    got = VALUES.double() + floors * NOISE_MULTIPLE.value * floor
    if accepted:
        assert_equal("values", got, VALUES.double(), Level.CALIBRATED, floor)
    else:
        with pytest.raises(AssertionError, match="is allowed"):
            assert_equal("values", got, VALUES.double(), Level.CALIBRATED, floor)


def test_calibrated_refuses_nan() -> None:
    """NaN is not within anything."""
    with pytest.raises(AssertionError, match="nan"):
        assert_equal("values", torch.full((2,), torch.nan), torch.zeros(2), Level.CALIBRATED, 1.0)


def test_a_calibrated_comparison_without_a_floor_is_a_mistake_of_the_test() -> None:
    """Nobody guesses a tolerance."""
    with pytest.raises(ValueError, match="needs a measured noise floor"):
        assert_equal("values", VALUES, VALUES, Level.CALIBRATED)


def test_the_floor_is_the_error_of_the_plain_computation() -> None:
    """The largest of all errors is what counts."""
    exact = VALUES.bfloat16().double()
    plain = exact.bfloat16()
    plain[[3, 9]] -= 0.5
    assert noise_floor(plain, exact) == pytest.approx(0.5, rel=1e-2)


def test_the_floor_is_at_least_one_rounding() -> None:
    """A plain computation that happens to be exact does not make rounding an error."""
    exact = torch.tensor([4.0], dtype=torch.float64)
    assert noise_floor(exact.float(), exact) == 4.0 * torch.finfo(torch.float32).eps


@pytest.mark.parametrize(
    ("other", "reason"),
    [(VALUES * 1.1, "norm off"), (VALUES.flip(0), "cosine"), (VALUES + 0.1, "cosine"), (VALUES * 0, "cosine")],
    ids=["scaled", "reversed", "shifted", "zero"],
)
def test_similarity_refuses_another_scale_and_another_direction(other: torch.Tensor, reason: str) -> None:
    """A cosine alone would accept a wrong scale."""
    with pytest.raises(AssertionError, match=reason):
        assert_equal("values", other, VALUES, Level.SIMILARITY)


def test_similarity_accepts_rounding_to_bfloat16() -> None:
    """Which is what it is for."""
    assert_equal("values", VALUES.bfloat16(), VALUES, Level.SIMILARITY)


@pytest.mark.parametrize("level", Level)
def test_no_level_accepts_another_shape(level: Level) -> None:
    """Broadcasting would compare the wrong entries."""
    with pytest.raises(AssertionError, match="shape"):
        assert_equal("values", VALUES[None], VALUES, level, 1.0)


def test_every_constant_has_a_source() -> None:
    """A tolerance that nobody can trace is a guess."""
    constants = {name: value for name, value in vars(tolerances).items() if isinstance(value, Tolerance)}
    assert len(constants) >= 4
    for name, constant in constants.items():
        assert len(dataclasses.asdict(constant)["source"].split()) >= 8, f"{name} needs a source"

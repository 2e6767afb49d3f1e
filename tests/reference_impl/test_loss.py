"""The loss of a step: figures by hand, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from reference_impl.errors import PackingError
from reference_impl.loss import reduce_loss
from reference_impl.ranks import LossPart


def part(losses: list[float], weights: list[float]) -> LossPart:
    return LossPart(np.array(losses), np.array(weights))


def test_loss_is_the_token_mean_and_not_the_mean_of_means() -> None:
    """S = (10, 1), N = (1, 4): 11 / 5, and not (10 + 1 / 4) / 2 = 5.125."""
    reduced = reduce_loss([part([10, 7], [1, 0]), part([0.25] * 4, [1] * 4)])
    assert reduced.loss == pytest.approx(2.2)
    assert reduced.tokens == 5
    assert reduced.scales.tolist() == [0.2, 0.2]


def test_untrained_slots_may_hold_nan() -> None:
    assert reduce_loss([part([np.nan, 3], [0, 1])]).loss == 3


def test_nothing_trained_is_no_loss() -> None:
    reduced = reduce_loss([part([np.nan], [0]), part([], [])])
    assert (reduced.loss, reduced.tokens, reduced.scales.tolist()) == (0, 0, [0, 0])


def test_no_part_is_refused() -> None:
    with pytest.raises(PackingError, match="at least one micro batch"):
        reduce_loss([])


def test_masks_of_another_length_are_refused() -> None:
    with pytest.raises(PackingError, match=r"parts\[1\].weights = \(1,\): must have the shape of the losses, \(2,\)"):
        reduce_loss([part([1], [1]), part([1, 2], [1])])


@pytest.mark.parametrize("weight", [0.5, 2, -1, np.nan])
def test_weights_beside_0_and_1_are_refused(weight: float) -> None:
    with pytest.raises(PackingError, match="must be 0 or 1"):
        reduce_loss([part([1], [weight])])

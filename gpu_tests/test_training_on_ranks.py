"""A training step over CP ranks gives the loss and gradients of unpacked documents; other ways to average do not."""

from __future__ import annotations

from typing import get_args

import pytest
import torch

from gpu_tests.cases import TRAINING, Case, case_of
from gpu_tests.programs.texts import Source
from gpu_tests.programs.training import unpacked
from gpu_tests.ranks import Ranks
from gpu_tests.training_equals_unpacked import check_idle_step, check_training_step

pytestmark = pytest.mark.suite("training-step")

UNEQUAL = case_of("odd tails", context=2, dtype="float64")
"""A stream whose ranks hold different numbers of tokens that count."""


@pytest.mark.parametrize("source", [source for source in get_args(Source) if source != "filled"])
@pytest.mark.parametrize("case", TRAINING, ids=str)
def test_loss_and_gradients_are_those_of_unpacked_documents(
    case: Case, source: Source, ranks: Ranks, target: str
) -> None:
    """Under per-token loss, neither packing nor padding nor the number of ranks shows."""
    check_training_step(ranks.of(case.backend), target, case, source)


@pytest.mark.parametrize("case", [case_of("aligned", context=world, dtype="float64") for world in (1, 2, 4)], ids=str)
def test_rows_filled_without_padding_train_like_unpacked_documents(case: Case, ranks: Ranks, target: str) -> None:
    """Documents that are aligned already need no padding step before they are packed."""
    check_training_step(ranks.of("gloo"), target, case, "filled")


def test_a_batch_in_which_nothing_is_trained_has_no_loss(ranks: Ranks, target: str) -> None:
    """Loss 0, and no gradient moves: not 0 / 0."""
    check_idle_step(ranks.of("gloo"), target)


def test_average_in_collective_divides_the_gradient_once_too_often(ranks: Ranks, target: str) -> None:
    """A control: with it every gradient is too small by the number of ranks, and the equality above would see it."""
    results = check_training_step(ranks.of("gloo"), target, UNEQUAL, "in batch")
    for name, expected in unpacked(UNEQUAL, "in batch")["per_token"].items():
        averaged = results[0]["average_in_collective"][name]
        torch.testing.assert_close(averaged * UNEQUAL.context, expected)
        assert not torch.allclose(averaged, expected)


def test_a_mean_of_rank_means_is_another_gradient(ranks: Ranks, target: str) -> None:
    """A control: ranks with few tokens that count weigh as much as the others."""
    results = check_training_step(ranks.of("gloo"), target, UNEQUAL, "in batch")
    assert len({result["tokens"] for result in results}) > 1, "the control needs ranks that differ"
    for name, expected in unpacked(UNEQUAL, "in batch")["per_token"].items():
        assert not torch.allclose(results[0]["mean_of_means"][name], expected, rtol=1e-3), name

"""Claims about a training step over CP ranks, as functions of a target: the reference, or a re-created bug."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gpu_tests.cases import Case
from gpu_tests.levels import Level, assert_equal
from gpu_tests.programs.texts import Source
from gpu_tests.programs.training import idle_step, training_step, unpacked
from gpu_tests.ranks import Runner
from gpu_tests.tolerances import FLOAT64_ROUNDINGS


def check_training_step(runner: Runner, target: str, case: Case, source: Source) -> list[dict[str, Any]]:
    """Loss, token count and every gradient equal those of documents that were never packed nor cut.

    Returns:
        The results of all ranks.
    """
    results = runner.run(training_step, target, case, source, context=case.context)
    expected = unpacked(case, source)
    for rank, result in enumerate(results):
        assert_equal(f"tokens on rank {rank}", result["count"], expected["count"], Level.BITWISE)
        _within_rounding(f"loss on rank {rank}", result["loss"], expected["loss"])
        for name, gradient in expected["per_token"].items():
            _within_rounding(f"gradient of {name} on rank {rank}", result["per_token"][name], gradient)
    return results


def check_idle_step(runner: Runner, target: str) -> None:
    """A batch of which no rank trains a token has loss 0 and moves nothing; it is not NaN."""
    for rank, (loss, scales) in enumerate(runner.run(idle_step, target, context=2)):
        assert loss == 0.0, f"rank {rank}: the loss of nothing is {loss}"
        assert not any(scales), f"rank {rank}: gradients of nothing are scaled by {scales}"


def _within_rounding(what: str, got: Tensor, expected: Tensor) -> None:
    floor = torch.finfo(torch.float64).eps * max(expected.abs().max().item(), 1.0)
    assert_equal(what, got, expected, Level.CALIBRATED, floor * FLOAT64_ROUNDINGS.value)

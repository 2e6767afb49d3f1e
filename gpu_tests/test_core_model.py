"""A tiny Megatron-Core GPT model trains on packed data as on the same documents alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from conformance.machine import here
from gpu_tests.cases import Case, case_of
from gpu_tests.levels import Level, assert_equal
from gpu_tests.programs.core_gpt import Layers, losses_and_gradients, packed_parameters_in_local_attention
from gpu_tests.programs.texts import Source
from gpu_tests.ranks import Pool, under_torchrun
from gpu_tests.tolerances import FLOAT64_ROUNDINGS

pytestmark = [
    pytest.mark.suite("core-model"),
    pytest.mark.one_gpu,
    pytest.mark.skipif(under_torchrun(), reason="needs a process of its own, whose groups Core makes"),
]

CASES = [case_of(name) for name in ("padding in the tail only", "odd tails", "many documents")]

IN_FLOAT32 = {"dt_bias", "A_log", "D"}
"""Parameters of a Mamba layer that Core turns into float32, whatever they are."""


@pytest.fixture(scope="module")
def alone() -> Iterator[Pool]:
    """One process, on a CUDA device if there is one: Core makes groups of all ranks that it finds."""
    opened = Pool(1, "cuda" if here().devices else "cpu", limit=120.0)
    yield opened
    opened.close()


@pytest.mark.parametrize("source", ["in batch", "offline", "whole loss"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_core_model_trains_on_packs_as_on_documents_alone(
    case: Case, source: Source, alone: Pool, target: str
) -> None:
    """Same summed loss and same gradient of every parameter, in float64, under the mask that packing stands for."""
    result = _run(alone, target, case, source, "local")
    packed, single = result["packed"], result["alone"]
    _close("loss", packed["loss"], single["loss"])
    for name, gradient in single["gradients"].items():
        _close(name, packed["gradients"][name], gradient)


def test_without_the_mask_of_packing_the_same_model_trains_differently(alone: Pool) -> None:
    """A control: one causal mask over the whole row is another loss, by far more than rounding."""
    case = case_of("many documents")
    packed = _run(alone, "museum:TR-02", case, "in batch", "local")["packed"]["loss"]
    single = _run(alone, "reference", case, "in batch", "local")["alone"]["loss"]
    assert abs(float(packed - single)) > 1e-6 * abs(float(single))


def test_cores_own_attention_refuses_packed_parameters(alone: Pool) -> None:
    """It must not ignore them: documents would attend to each other."""
    message = alone.run(packed_parameters_in_local_attention, CASES[0])[0]
    assert "Packed sequence is not supported" in message


@pytest.mark.suite("core-te-model")
@pytest.mark.parametrize("source", ["in batch", "offline"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_core_model_with_transformer_engine_layers_trains_alike(
    case: Case, source: Source, alone: Pool, target: str
) -> None:
    """With packed parameters in the place of the mask; bfloat16, so at the level of similarity."""
    result = _run(alone, target, case, source, "te")
    packed, single = result["packed"], result["alone"]
    assert_equal("loss", packed["loss"], single["loss"], Level.SIMILARITY)
    for name, gradient in single["gradients"].items():
        assert_equal(name, packed["gradients"][name], gradient, Level.SIMILARITY)


@pytest.mark.parametrize("source", ["in batch", "offline"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_mamba_layers_train_on_packs_as_on_documents_alone(
    case: Case, source: Source, alone: Pool, target: str
) -> None:
    """Core hands the document of every slot to the kernel, which is restated here."""
    result = _run(alone, target, case, source, "mamba restated")
    packed, single = result["packed"], result["alone"]
    _close("loss", packed["loss"], single["loss"])
    for name, gradient in single["gradients"].items():
        if name.rpartition(".")[2] in IN_FLOAT32:
            floor = torch.finfo(torch.float32).eps * gradient.abs().max().item()
            assert_equal(name, packed["gradients"][name], gradient, Level.CALIBRATED, FLOAT64_ROUNDINGS.value * floor)
        else:
            _close(name, packed["gradients"][name], gradient)


@pytest.mark.parametrize("bug", ["MB-23"])
def test_without_the_document_of_every_slot_mamba_layers_leak(bug: str, alone: Pool) -> None:
    """A control: the state runs on into the next document."""
    packed, single = (
        _run(alone, f"museum:{bug}", CASES[2], "in batch", "mamba restated")[how] for how in ("packed", "alone")
    )
    assert abs(float(packed["loss"] - single["loss"])) > 1e-6 * abs(float(single["loss"]))


@pytest.mark.suite("core-hybrid-model")
@pytest.mark.parametrize("source", ["in batch", "offline"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_hybrid_model_trains_alike(case: Case, source: Source, alone: Pool, target: str) -> None:
    """Mamba and attention layers on their real kernels; bfloat16, so at the level of similarity."""
    result = _run(alone, target, case, source, "hybrid")
    packed, single = result["packed"], result["alone"]
    assert_equal("loss", packed["loss"], single["loss"], Level.SIMILARITY)
    for name, gradient in single["gradients"].items():
        assert_equal(name, packed["gradients"][name], gradient, Level.SIMILARITY)


def _run(pool: Pool, target: str, case: Case, source: Source, layers: Layers) -> dict[str, Any]:
    result: dict[str, Any] = pool.run(losses_and_gradients, target, case, source, layers)[0]
    return result


def _close(what: str, got: torch.Tensor, expected: torch.Tensor) -> None:
    floor = FLOAT64_ROUNDINGS.value * torch.finfo(torch.float64).eps * max(expected.abs().max().item(), 1.0)
    assert_equal(what, got, expected, Level.CALIBRATED, floor)

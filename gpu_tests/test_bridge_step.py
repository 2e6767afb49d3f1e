"""``get_batch`` of Megatron Bridge's GPT and VLM steps on a device gives the batch that went in, on that device."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from conformance import isolation
from conformance.targets.megatron_bridge.step import pack_in_batch
from gpu_tests.cases import case_of
from gpu_tests.levels import Level, assert_equal
from gpu_tests.programs.slicing import tagged_batch
from gpu_tests.programs.texts import PAD_ID, padded_batch, texts_of

pytestmark = [pytest.mark.suite("bridge-step"), pytest.mark.one_gpu]

ALONE = SimpleNamespace(size=lambda: 1, rank=lambda: 0)
GROUPS = SimpleNamespace(pp=ALONE, cp=ALONE, tp=ALONE)
"""Process groups of one rank, of which the steps ask only this."""


def test_the_gpt_step_moves_a_packed_batch_and_changes_nothing() -> None:
    """Tokens, labels, mask and positions arrive on the device; boundaries keep their values."""
    batch = tagged_batch(case_of("padding between"))
    given: dict[str, Tensor] = {
        "tokens": torch.from_numpy(batch.tokens)[None],
        "labels": torch.from_numpy(batch.labels)[None],
        "loss_mask": torch.from_numpy(batch.loss_mask)[None],
        "position_ids": torch.from_numpy(batch.position_ids)[None],
        "cu_seqlens": torch.from_numpy(batch.raw["cu_seqlens"])[None],
        "cu_seqlens_argmin": torch.tensor(len(batch.raw["cu_seqlens"])),
        "max_seqlen": torch.tensor(batch.max_seqlen),
    }
    config = SimpleNamespace(
        dataset=SimpleNamespace(skip_getting_attention_mask_from_dataset=True),
        model=SimpleNamespace(virtual_pipeline_model_parallel_size=None),
    )
    got = _step("gpt_step").get_batch(iter([dict(given)]), config, False, pg_collection=GROUPS)
    names = ("tokens", "labels", "loss_mask", None, "position_ids", "cu_seqlens", "cu_seqlens_argmin", "max_seqlen")
    for name, value in zip(names, got, strict=False):
        if name is None:
            continue
        assert_equal(name, value.cpu(), given[name], Level.BITWISE)
        if name in {"tokens", "labels", "loss_mask", "position_ids", "cu_seqlens"}:
            assert value.is_cuda, f"{name} stayed on {value.device}"


def test_the_vlm_step_packs_on_the_device_what_it_packs_on_the_host() -> None:
    """In-batch packing gives the same bits wherever its input lives."""
    isolation.activate()
    rows = padded_batch(texts_of(case_of("odd tails")))
    on_host = pack_in_batch(rows, 1, PAD_ID)
    pack = _step("vlm_step").pack_batch_sequences
    arrays = {
        name: torch.from_numpy(getattr(rows, name)).cuda()
        for name in ("tokens", "labels", "loss_mask", "position_ids")
    }
    mask = {} if rows.padding_mask is None else {"padding_mask": torch.from_numpy(rows.padding_mask).long().cuda()}
    packed = pack(**arrays, attention_mask=None, pad_token_id=PAD_ID, pad_to_multiple_of=1, **mask)
    for name, value, expected in (
        ("tokens", packed[0], on_host.tokens),
        ("labels", packed[1], on_host.labels),
        ("positions", packed[4], on_host.position_ids),
    ):
        assert value.is_cuda, f"{name} stayed on {value.device}"
        assert_equal(name, value.cpu().flatten(), torch.from_numpy(expected), Level.BITWISE)


def _step(name: str) -> Any:
    isolation.activate()
    return importlib.import_module(f"megatron.bridge.training.{name}")

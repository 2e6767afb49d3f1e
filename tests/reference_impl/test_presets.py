"""The presets: what the documentation tells users to start from."""

import math
from dataclasses import replace

import pytest

from reference_impl.config import CudaGraph, DatasetKind, TrainingConfig
from reference_impl.presets import presets, with_context_parallelism, with_cuda_graphs
from reference_impl.rules import Severity, check

DOCUMENTED = {
    "packed-sft-off": TrainingConfig(),
    "packed-sft": TrainingConfig(offline_size=4096, pad_seq_to_mult=1, pad_to_max_length=True),
    "packed-sft-cp": TrainingConfig(
        offline_size=4096,
        pad_seq_to_mult=4,
        pad_to_max_length=True,
        context_parallel_size=2,
        calculate_per_token_loss=True,
        average_in_collective=False,
    ),
    "packed-sft-cp-sp": TrainingConfig(
        offline_size=4096,
        pad_seq_to_mult=8,
        pad_to_max_length=True,
        context_parallel_size=2,
        tensor_parallel_size=4,
        sequence_parallel=True,
        calculate_per_token_loss=True,
        average_in_collective=False,
    ),
    "packed-sft-cp-cuda-graphs": TrainingConfig(
        offline_size=4096,
        pad_seq_to_mult=4,
        pad_to_max_length=True,
        pad_cu_seqlens=True,
        context_parallel_size=2,
        calculate_per_token_loss=True,
        average_in_collective=False,
        cuda_graph=CudaGraph.ATTENTION,
    ),
    "packed-sft-cuda-graphs": TrainingConfig(
        offline_size=4096, pad_to_max_length=True, pad_cu_seqlens=True, cuda_graph=CudaGraph.ATTENTION
    ),
    "vlm-in-batch": TrainingConfig(pack_sequences_in_batch=True, micro_batch_size=2),
    "long-context": TrainingConfig(
        model_seq_length=16384,
        dataset_seq_length=16384,
        context_parallel_size=2,
        dataset_kind=DatasetKind.PRETRAINING,
    ),
    "long-context-sft": TrainingConfig(
        model_seq_length=16384,
        dataset_seq_length=16384,
        context_parallel_size=2,
        calculate_per_token_loss=True,
        average_in_collective=False,
    ),
}
"""Settings as the skill document gives them; what it does not name has its default."""


def test_presets_are_as_documented() -> None:
    assert presets() == DOCUMENTED


def test_cuda_graphs_bring_all_that_they_need() -> None:
    bare = TrainingConfig(has_metadata_file=False)
    whole = replace(
        bare, cuda_graph=CudaGraph.ATTENTION, pad_cu_seqlens=True, has_metadata_file=True, pad_to_max_length=True
    )
    assert with_cuda_graphs(bare) == whole


@pytest.mark.parametrize("name", presets())
def test_preset_breaks_no_rule_and_holds_no_hazard(name: str) -> None:
    assert check(presets()[name]) == ()


@pytest.mark.parametrize("release", ["0.3.1", "0.4.2", "0.5.1", "0.6.0"])
@pytest.mark.parametrize("name", presets())
def test_preset_is_refused_by_no_release(name: str, release: str) -> None:
    assert all(broken.rule.severity is Severity.WARNING for broken in check(presets()[name], release))


def test_sequence_parallelism_pads_documents_further() -> None:
    config = presets()["packed-sft-cp-sp"]
    ranks, tensor = config.context_parallel_size, config.tensor_parallel_size
    assert config.sequence_parallel
    assert config.pad_seq_to_mult == math.lcm(2 * ranks, ranks * tensor) == 8


def test_context_parallelism_leaves_unpacked_runs_unpadded() -> None:
    assert with_context_parallelism(TrainingConfig(), 2).pad_seq_to_mult == 1


def test_long_context_fine_tuning_needs_the_loss_settings_too() -> None:
    presets_by_name = presets()
    fine_tuning = presets_by_name["long-context-sft"]
    assert fine_tuning.calculate_per_token_loss
    assert not fine_tuning.average_in_collective
    assert fine_tuning.model_seq_length == presets_by_name["long-context"].model_seq_length


def test_presets_touch_every_packing_mode() -> None:
    configs = presets().values()
    assert any(config.offline_size for config in configs)
    assert any(config.pack_sequences_in_batch for config in configs)
    assert any(config.cuda_graph is not CudaGraph.NONE for config in configs)

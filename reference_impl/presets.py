"""Settings that go together: the configurations that users start from, each accepted by every rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from reference_impl.config import CudaGraph, DatasetKind, TrainingConfig
from reference_impl.rule import pack_multiple

LENGTH = 4096
"""Tokens of a sequence and of a pack in the packed fine-tuning presets."""

LONG_LENGTH = 16384
"""Tokens of a sequence in the long-context baseline."""


def presets() -> Mapping[str, TrainingConfig]:
    """Configurations by name.

    ``packed-sft-off`` to ``packed-sft-cuda-graphs`` fine-tune a language model, ``vlm-in-batch`` a vision-language
    model. ``long-context`` is the baseline for long sequences; fine-tuning on them adds the two loss settings.
    """
    return MappingProxyType(
        {
            "packed-sft-off": packed_sft(packed_sequence=False),
            "packed-sft": packed_sft(packed_sequence=True),
            "packed-sft-cp": with_context_parallelism(packed_sft(packed_sequence=True), 2),
            "packed-sft-cp-sp": with_context_parallelism(
                replace(packed_sft(packed_sequence=True), tensor_parallel_size=4, sequence_parallel=True), 2
            ),
            "packed-sft-cuda-graphs": with_cuda_graphs(packed_sft(packed_sequence=True)),
            "packed-sft-cp-cuda-graphs": with_cuda_graphs(
                with_context_parallelism(packed_sft(packed_sequence=True), 2)
            ),
            "vlm-in-batch": TrainingConfig(
                model_seq_length=LENGTH, dataset_seq_length=LENGTH, pack_sequences_in_batch=True, micro_batch_size=2
            ),
            "long-context": long_context(DatasetKind.PRETRAINING),
            "long-context-sft": with_context_parallelism(long_context(DatasetKind.FINETUNING), 2),
        }
    )


def packed_sft(*, packed_sequence: bool) -> TrainingConfig:
    """Fine-tuning of a language model with offline packing on or off."""
    base = TrainingConfig(micro_batch_size=1, model_seq_length=LENGTH, dataset_seq_length=LENGTH)
    if not packed_sequence:
        return base
    return replace(base, offline_size=LENGTH, pad_seq_to_mult=1, pad_to_max_length=True)


def with_context_parallelism(config: TrainingConfig, size: int) -> TrainingConfig:
    """The same fine-tuning on ``size`` CP ranks: per-token loss, and documents padded to lcm(2 * CP, CP * TP)."""
    spread = replace(config, context_parallel_size=size, calculate_per_token_loss=True, average_in_collective=False)
    return spread if spread.offline_size is None else replace(spread, pad_seq_to_mult=pack_multiple(spread))


def with_cuda_graphs(config: TrainingConfig) -> TrainingConfig:
    """The same with captured attention: boundaries and width of constant size."""
    return replace(
        config, cuda_graph=CudaGraph.ATTENTION, pad_cu_seqlens=True, has_metadata_file=True, pad_to_max_length=True
    )


def long_context(kind: DatasetKind) -> TrainingConfig:
    """The long-context baseline on 2 CP ranks."""
    return TrainingConfig(
        model_seq_length=LONG_LENGTH, dataset_seq_length=LONG_LENGTH, context_parallel_size=2, dataset_kind=kind
    )

"""Configuration rules: ``ConfigContainer.validate`` of ``training/config.py``.

The container is built as upstream's own unit tests build it, with the world size that the parallel sizes make and one
data-parallel rank.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
from pathlib import Path
from typing import Any
from unittest import mock

from conformance.targets.megatron_bridge.places import Part, part
from conformance.targets.modules import bridge, torch
from reference_impl.config import CudaGraph, DatasetKind, ModelFamily, TrainingConfig, Validation
from reference_impl.errors import Inexpressible, NotSupported

REFUSALS = (ValueError, AssertionError)
"""What Bridge raises to refuse a configuration."""

NOT_ABOUT_PACKING = "Gated delta net does not support context parallel"
"""Up to Core 0.17 a layer of Qwen3.5 runs on one CP rank only, packed or not."""


def validate(config: TrainingConfig, folder: Path) -> Validation:
    """Build the container and call ``validate``; a refusal by any part of it counts."""
    _check_expressible(config)
    try:
        validated(config, folder)
    except REFUSALS as error:
        if NOT_ABOUT_PACKING in str(error):
            raise Inexpressible(str(error)) from error
        return Validation(accepted=False, errors=(str(error) or f"{type(error).__name__} without a message",))
    return Validation(accepted=True)


def validated(config: TrainingConfig, folder: Path | None = None) -> Any:
    """The container after ``validate``, which fills in what follows from other settings.

    Args:
        config: the settings.
        folder: for the files that offline packing needs.
    """
    container = _container(config, folder)
    with mock.patch.object(bridge("training.config"), "get_world_size_safe", return_value=_world_size(config)):
        container.validate()
    return container


def _check_expressible(config: TrainingConfig) -> None:
    if config.dataset_kind is DatasetKind.PRETRAINING and (
        config.offline_size is not None or config.pack_sequences_in_batch
    ):
        raise Inexpressible("Megatron Bridge has no packing settings in a pretraining dataset")


def _world_size(config: TrainingConfig) -> int:
    return config.context_parallel_size * config.tensor_parallel_size * config.pipeline_parallel_size


def _container(config: TrainingConfig, folder: Path | None) -> Any:
    settings = bridge("training.config")
    graph = config.cuda_graph is CudaGraph.FULL_ITERATION
    parts: dict[str, Any] = {
        "train": settings.TrainingConfig(
            # A multiple of the micro batch size, for any number of data-parallel ranks here (one).
            micro_batch_size=config.micro_batch_size,
            global_batch_size=8 * config.micro_batch_size,
            train_iters=1000,
        ),
        "model": _model(config),
        "optimizer": settings.OptimizerConfig(lr=1e-4, use_distributed_optimizer=False),
        "scheduler": settings.SchedulerConfig(lr_decay_style="linear", lr_warmup_iters=0),
        "dataset": _dataset(config, folder),
        "logger": settings.LoggerConfig(),
        "tokenizer": bridge("training.tokenizers.config").TokenizerConfig(),
        "checkpoint": settings.CheckpointConfig(ckpt_format="torch_dist"),
        "dist": settings.DistributedInitConfig(),
        "ddp": settings.DistributedDataParallelConfig(average_in_collective=config.average_in_collective),
        "rng": settings.RNGConfig(),
        "rerun_state_machine": settings.RerunStateMachineConfig(check_for_nan_in_loss=not graph),
    }
    return settings.ConfigContainer(**parts)


def _model(config: TrainingConfig) -> Any:
    """A small model of the family.

    Bridge 0.5.1 has no rule of its own for GLM-4.5, which is a plain ``GPTModelProvider`` there, nor for the attention
    variant of Qwen3-Next.
    """
    heads = math.lcm(8, config.tensor_parallel_size)
    size: dict[str, Any] = {
        "num_layers": config.pipeline_parallel_size,
        "hidden_size": 16 * heads,
        "num_attention_heads": heads,
        "num_query_groups": heads,
        "seq_length": config.model_seq_length,
        "context_parallel_size": config.context_parallel_size,
        "tensor_model_parallel_size": config.tensor_parallel_size,
        "pipeline_model_parallel_size": config.pipeline_parallel_size,
        "pipeline_dtype": torch().bfloat16,
        "sequence_parallel": config.sequence_parallel,
        "calculate_per_token_loss": config.calculate_per_token_loss,
        "mtp_num_layers": config.mtp_num_layers,
        "apply_rope_fusion": False,
    }
    if config.model_family is ModelFamily.QWEN35_VL:
        model = _where_there_is("models.qwen_vl.qwen35_vl_provider").Qwen35VLModelProvider(**size)
    else:
        model = bridge("models.gpt_provider").GPTModelProvider(**size)
    if config.cuda_graph is CudaGraph.FULL_ITERATION:
        _where_there_is("utils.cuda_graph").set_full_iteration_cuda_graph(model)
    elif config.cuda_graph is CudaGraph.ATTENTION:
        model.cuda_graph_impl = "transformer_engine"
        _where_there_is("utils.cuda_graph").set_cuda_graph_modules(model, ["attn"])
    return model


def _where_there_is(module: str) -> Any:
    """A module that only some configurations need.

    Raises:
        Inexpressible: this release does not have it.
    """
    try:
        return bridge(module)
    except NotSupported as error:
        raise Inexpressible(str(error)) from error


def _dataset(config: TrainingConfig, folder: Path | None) -> Any:
    if config.dataset_kind is DatasetKind.PRETRAINING:
        return bridge("training.config").GPTDatasetConfig(
            random_seed=1234,
            seq_length=config.dataset_seq_length,
            reset_position_ids=False,
            reset_attention_mask=False,
            eod_mask_loss=False,
        )
    made_for = part(Part.DATASET_CONFIG)
    flags = {field.name for field in dataclasses.fields(made_for)}
    if "enable_offline_packing" not in flags:
        dataset = made_for(packed_sequence_specs=_specs(config, folder), **_common(config, folder))
        if config.pack_sequences_in_batch:
            dataset.pack_sequences_in_batch = True
        return dataset
    if config.pack_sequences_in_batch and config.offline_size is None:
        return _multimodal(config)
    dataset = made_for(
        enable_offline_packing=config.offline_size is not None,
        offline_packing_specs=_specs(config, folder),
        **_common(config, folder),
    )
    if config.pack_sequences_in_batch:
        dataset.enable_in_batch_packing = True
    return dataset


def _common(config: TrainingConfig, folder: Path | None) -> dict[str, Any]:
    return {
        "seq_length": config.dataset_seq_length,
        "dataset_root": str(folder),
        "dataset_kwargs": {"pad_to_max_length": config.pad_to_max_length},
    }


def _multimodal(config: TrainingConfig) -> Any:
    """From 0.6 on text data sets are not packed in batch; the simplest kind that can be is that of made-up images."""
    return bridge("data.builders.mock_vlm_sft").MockVLMSFTDatasetConfig(
        seq_length=config.dataset_seq_length,
        hf_processor_path="none",
        enable_in_batch_packing=True,
        pad_to_max_length=config.pad_to_max_length,
    )


def _specs(config: TrainingConfig, folder: Path | None) -> Any:
    if config.offline_size is None:
        return None
    specs = part(Part.SPECS)
    if config.offline_size < 1 and "max_single_sequence_length" not in inspect.signature(specs).parameters:
        raise Inexpressible("up to Bridge 0.5 a pack size below 1 is the documented way to switch packing off")
    metadata = None
    if folder is not None:
        metadata = folder / ("metadata.jsonl" if config.has_metadata_file else "missing.jsonl")
        if config.has_metadata_file:
            metadata.write_text("[]")
    return specs(
        packed_sequence_size=config.offline_size,
        pad_seq_to_mult=config.pad_seq_to_mult,
        pad_cu_seqlens=config.pad_cu_seqlens,
        packed_metadata_path=None if metadata is None else str(metadata),
    )

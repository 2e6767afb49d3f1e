"""The packing-relevant part of a training configuration, under Megatron Bridge's dotted names."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class DatasetKind(StrEnum):
    """What the dataset section describes."""

    FINETUNING = "finetuning"
    PRETRAINING = "pretraining"


class ModelFamily(StrEnum):
    """Model families with a rule of their own; every other one is ``OTHER``."""

    OTHER = "other"
    QWEN3_NEXT = "qwen3-next"
    GLM45 = "glm-4.5"
    QWEN35_VL = "qwen3.5-vl"


class CudaGraph(StrEnum):
    """What CUDA graphs capture."""

    NONE = "none"
    ATTENTION = "attention"
    FULL_ITERATION = "full_iteration"


@dataclass(frozen=True)
class TrainingConfig:
    """Fields that a packing rule reads; the comment is the name in a Bridge config.

    ``offline_size`` None means that offline packing is off.
    """

    model_seq_length: int = 4096  # model.seq_length
    dataset_seq_length: int = 4096  # dataset.seq_length
    dataset_kind: DatasetKind = DatasetKind.FINETUNING
    micro_batch_size: int = 1  # train.micro_batch_size
    context_parallel_size: int = 1  # model.context_parallel_size
    tensor_parallel_size: int = 1  # model.tensor_model_parallel_size
    pipeline_parallel_size: int = 1  # model.pipeline_model_parallel_size
    sequence_parallel: bool = False  # model.sequence_parallel
    calculate_per_token_loss: bool = False  # model.calculate_per_token_loss
    average_in_collective: bool = True  # ddp.average_in_collective
    offline_size: int | None = None  # dataset.packed_sequence_specs.packed_sequence_size
    pad_seq_to_mult: int | None = 1  # dataset.packed_sequence_specs.pad_seq_to_mult
    pad_cu_seqlens: bool = False  # dataset.packed_sequence_specs.pad_cu_seqlens
    has_metadata_file: bool = True  # dataset.packed_sequence_specs.packed_metadata_path exists
    pad_to_max_length: bool = False  # dataset.dataset_kwargs["pad_to_max_length"]
    pack_sequences_in_batch: bool = False  # dataset.pack_sequences_in_batch
    mtp_num_layers: int | None = None  # model.mtp_num_layers
    model_family: ModelFamily = ModelFamily.OTHER
    cuda_graph: CudaGraph = CudaGraph.NONE  # model.cuda_graph_impl / cuda_graph_scope


@dataclass(frozen=True)
class Validation:
    """What an implementation says of a configuration.

    Attributes:
        accepted: whether a run may start.
        errors: one message per reason to refuse; empty exactly when accepted.
    """

    accepted: bool
    errors: tuple[str, ...] = ()

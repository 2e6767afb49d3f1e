"""Training configurations from YAML and JSON files, checked before a GPU hour is spent.

Files use Megatron Bridge's dotted names, nested or flat, those up to 0.5 and those since 0.6:

    train.micro_batch_size: 1
    model: {seq_length: 4096, context_parallel_size: 2}
    dataset:
      packed_sequence_specs: {packed_sequence_size: 4096, pad_seq_to_mult: 4}

Settings that no packing rule reads are ignored; what is not set has the default of ``TrainingConfig``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from conformance.config_file import ConfigError, Settings, read
from reference_impl.config import CudaGraph, DatasetKind, ModelFamily, TrainingConfig
from reference_impl.rules import BrokenRule, check

__all__ = ["ConfigError", "load", "report"]

OLD_SPECS, NEW_SPECS = "dataset.packed_sequence_specs", "dataset.offline_packing_specs"
SECTIONS = ("model", "train", "dataset", "ddp", "dataset.dataset_kwargs", OLD_SPECS, NEW_SPECS)
ENABLE_OFFLINE = "dataset.enable_offline_packing"

PRETRAINING_DATASETS = ("GPTDatasetConfig", "MockGPTDatasetConfig")
"""Classes of ``dataset._target_`` that are for pretraining; every other one is for fine-tuning."""

PRETRAINING_SETTINGS = ("dataset.blend", "dataset.blend_per_split", "dataset.random_seed", "dataset.data_path")
"""Settings that only pretraining datasets have, for files without ``dataset._target_``."""

FAMILIES = {
    r"qwen3next": ModelFamily.QWEN3_NEXT,
    r"glm45(?!v)": ModelFamily.GLM45,  # GLM-4.5V is another family
    r"qwen35": ModelFamily.QWEN35_VL,
}
"""Families by what is left of a model's name without punctuation."""

FAMILY_SETTINGS = ("model._target_", "model.hf_model_id", "tokenizer.tokenizer_model")


def report(path: str | Path, release: str | None = None) -> list[BrokenRule]:
    """Rules that a training configuration breaks, hazards included.

    Args:
        path: a YAML or JSON file.
        release: Bridge release that the run will use; see ``reference_impl.rules.check``.

    Raises:
        ConfigError: the file cannot be read as a training configuration.
        PackingError: ``release`` is no release number.
    """
    return list(check(load(path), release))


def load(path: str | Path) -> TrainingConfig:
    """Read the packing-relevant part of a training configuration.

    Args:
        path: a YAML or JSON file.

    Raises:
        ConfigError: the file cannot be read, names no setting that a rule reads, or gives one a value of another type.
    """
    settings = read(Path(path), SECTIONS)
    given = {field: value for field, read_field in FIELDS.items() if (value := read_field(settings)) is not None}
    values: dict[str, Any] = {
        **_lengths(given),
        **_offline(settings),
        "pad_to_max_length": _pads(settings),
        "cuda_graph": _graph(settings),
    }
    if not settings.used:
        raise ConfigError(settings.path, "names no setting that packing depends on; write such as model.seq_length")
    return TrainingConfig(**values, dataset_kind=_kind(settings), model_family=_family(settings))


def _count(*names: str) -> Callable[[Settings], int | None]:
    return lambda settings: settings.integer(names, least=1)


def _flag(*names: str) -> Callable[[Settings], bool | None]:
    return lambda settings: settings.flag(names)


def _of_model(name: str) -> tuple[str, str]:
    """Since 0.5, models may hold their transformer settings one level deeper."""
    return f"model.{name}", f"model.transformer.{name}"


FIELDS: Mapping[str, Callable[[Settings], int | bool | None]] = {
    "model_seq_length": _count(*_of_model("seq_length")),
    "dataset_seq_length": _count("dataset.seq_length", "dataset.sequence_length"),
    "micro_batch_size": _count("train.micro_batch_size"),
    "context_parallel_size": _count(*_of_model("context_parallel_size")),
    "tensor_parallel_size": _count(*_of_model("tensor_model_parallel_size")),
    "pipeline_parallel_size": _count(*_of_model("pipeline_model_parallel_size")),
    "sequence_parallel": _flag(*_of_model("sequence_parallel")),
    "calculate_per_token_loss": _flag(*_of_model("calculate_per_token_loss")),
    "average_in_collective": _flag("ddp.average_in_collective"),
    "pack_sequences_in_batch": _flag("dataset.pack_sequences_in_batch", "dataset.enable_in_batch_packing"),
    "mtp_num_layers": lambda settings: settings.integer(_of_model("mtp_num_layers"), least=0),
}
"""How fields that stand for one setting are read."""


def _lengths(given: dict[str, int | bool]) -> dict[str, int | bool]:
    """A length that is given once, for the model or the dataset, is meant for both."""
    lengths = {given[name] for name in ("model_seq_length", "dataset_seq_length") if name in given}
    if len(lengths) != 1:
        return given
    [length] = lengths
    return {**given, "model_seq_length": length, "dataset_seq_length": length}


def _offline(settings: Settings) -> dict[str, int | bool | None]:
    """Settings of offline packing; none when it is off.

    Up to 0.5 a size of 0 or less switches it off; since 0.6 a switch of its own does.
    """
    new, old = settings.has(NEW_SPECS), settings.has(OLD_SPECS)
    enabled = settings.flag((ENABLE_OFFLINE,))
    if enabled is not None and enabled is not new:
        raise settings.error(ENABLE_OFFLINE, f"{NEW_SPECS} must be set exactly when it is True")
    if not new and not old:
        return {}

    def names(setting: str) -> tuple[str, str]:
        return f"{NEW_SPECS}.{setting}", f"{OLD_SPECS}.{setting}"

    size = settings.integer(names("packed_sequence_size"))
    size = -1 if size is None else size
    if size < 1 and not new:
        return {}
    found: dict[str, int | bool | None] = {"offline_size": size, "has_metadata_file": _has_metadata(settings, names)}
    found["pad_cu_seqlens"] = bool(settings.flag(names("pad_cu_seqlens")))
    if settings.names(names("pad_seq_to_mult")):
        found["pad_seq_to_mult"] = settings.integer(names("pad_seq_to_mult"))
    return found


def _has_metadata(settings: Settings, names: Callable[[str], tuple[str, str]]) -> bool:
    """Whether there will be a metadata file.

    Preparing the data writes one; data that was packed elsewhere needs a path to it. Configurations are checked on
    other machines than they run on: a file is missing only where its folder is there.
    """
    metadata = settings.text(names("packed_metadata_path"))
    if metadata is None:
        return settings.text(names("packed_train_data_path")) is None
    path = Path(metadata)
    return path.is_file() or not path.is_absolute() or not path.parent.is_dir()


def _pads(settings: Settings) -> bool:
    """The width is constant when either setting says so (Bridge 0.6)."""
    names = ("dataset.dataset_kwargs.pad_to_max_length", "dataset.pad_to_max_length")
    return any([settings.flag((name,)) for name in names])  # noqa: C419 - both are checked for their type


def _kind(settings: Settings) -> DatasetKind:
    target = settings.text(("dataset._target_",))
    if target is not None:
        pretraining = target.rpartition(".")[2] in PRETRAINING_DATASETS
    else:
        pretraining = bool(settings.names(PRETRAINING_SETTINGS))
    return DatasetKind.PRETRAINING if pretraining else DatasetKind.FINETUNING


def _family(settings: Settings) -> ModelFamily:
    for setting in FAMILY_SETTINGS:
        name = re.sub(r"[^a-z0-9]", "", (settings.text((setting,)) or "").lower())
        for pattern, family in FAMILIES.items():
            if re.search(pattern, name):
                return family
    return ModelFamily.OTHER


def _graph(settings: Settings) -> CudaGraph:
    """What graphs capture, as Bridge 0.6 reads its settings; graphs without attention count as none."""
    kind = settings.text(_of_model("cuda_graph_impl"))
    modules = settings.words(_of_model("cuda_graph_modules"))
    scope = settings.words(_of_model("cuda_graph_scope"))
    if kind == "full_iteration" or (kind == "local" and "full_iteration" in scope):
        return CudaGraph.FULL_ITERATION
    captured = modules or [word for word in scope if not word.startswith("full")]
    if kind == "transformer_engine" and (not captured or "attn" in captured):
        return CudaGraph.ATTENTION
    return CudaGraph.NONE

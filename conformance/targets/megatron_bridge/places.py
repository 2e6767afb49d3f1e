"""Where a release of Megatron Bridge keeps its packing.

Release 0.6 moved and renamed most of it. Each part is looked for where the newest release has it, then where older
ones have it; what was found is named in every report.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from conformance.targets.modules import bridge
from reference_impl.errors import NotSupported


class Part(StrEnum):
    """A part of Bridge's packing that the adapter calls."""

    ALGORITHMS = "bin packing"
    TOKENIZE = "tokenisation"
    PREPARE = "preparation"
    WRITE_PARQUET = "Parquet writer"
    OPEN_DATASET = "packed dataset"
    SPECS = "packing settings"
    DATASET_CONFIG = "dataset settings"
    IN_BATCH = "in-batch packing"
    STEP = "VLM step"
    SEQUENCE_PARAMS = "kernel parameters"


PLACES: Mapping[Part, tuple[str, ...]] = {
    Part.ALGORITHMS: ("data.packing.algorithms", "data.datasets.packing_utils"),
    Part.TOKENIZE: ("data.packing.offline:tokenize_dataset", "data.datasets.packed_sequence:tokenize_dataset"),
    Part.PREPARE: (
        "data.packing.offline:prepare_gpt_sft_packed_data",
        "data.datasets.packed_sequence:prepare_packed_sequence_data",
    ),
    Part.WRITE_PARQUET: (
        "data.packing.parquet:write_packed_parquet",
        "data.datasets.packed_parquet:write_packed_parquet",
    ),
    Part.OPEN_DATASET: ("data.builders.gpt_sft:build_gpt_sft_split", "data.datasets.sft:create_sft_dataset"),
    Part.SPECS: ("data.packing:PackedSequenceSpecs", "data.datasets.packed_sequence:PackedSequenceSpecs"),
    Part.DATASET_CONFIG: (
        "data.builders.gpt_sft:GPTSFTDatasetConfig",
        "training.config:FinetuningDatasetConfig",
    ),
    Part.IN_BATCH: ("data.collators.sequence:prepare_sequence_batch", "training.vlm_step:pack_batch_sequences"),
    Part.STEP: ("training.vlm_step:get_batch",),
    Part.SEQUENCE_PARAMS: ("training.utils.packed_seq_utils:get_packed_seq_params",),
}
"""Places below ``megatron.bridge``, newest release first: a module, or an attribute of one."""


def part(wanted: Part) -> Any:
    """The module, class or function of a part.

    Raises:
        NotSupported: this release has it in none of its places.
    """
    module, _, attribute = place(wanted).partition(":")
    return getattr(bridge(module), attribute) if attribute else bridge(module)


def place(wanted: Part) -> str:
    """Where this release has a part, below ``megatron.bridge``.

    Raises:
        NotSupported: this release has it in none of its places.
    """
    found = _place(wanted)
    if found is None:
        raise NotSupported(f"this release of Megatron Bridge has no {' and no '.join(PLACES[wanted])}")
    return found


def has(wanted: Part) -> bool:
    """Whether this release has a part."""
    return _place(wanted) is not None


def packs_in_collator() -> bool:
    """Whether the collator packs micro batches; up to 0.5 the training step does."""
    return place(Part.IN_BATCH).startswith("data.collators.")


def found() -> dict[str, str]:
    """Import path of every part that this release has, by its name."""
    return {
        str(wanted): f"megatron.bridge.{name.replace(':', '.')}"
        for wanted in Part
        if (name := _place(wanted)) is not None
    }


def defaults() -> dict[str, str]:
    """Default of every parameter of every part that can be called, by the part's and the parameter's name."""
    return {
        f"{wanted}: {name}": repr(parameter.default)
        for wanted in Part
        if has(wanted) and callable(part(wanted))
        for name, parameter in inspect.signature(part(wanted)).parameters.items()
        if parameter.default is not parameter.empty
    }


@functools.cache
def _place(wanted: Part) -> str | None:
    return next((name for name in PLACES[wanted] if _exists(name)), None)


def _exists(name: str) -> bool:
    """Whether a place exists; a part that does not move is looked for without importing it."""
    module, _, attribute = name.partition(":")
    try:
        if importlib.util.find_spec(f"megatron.bridge.{module}") is None:
            return False
        return not attribute or hasattr(bridge(module), attribute)
    except ModuleNotFoundError:  # of a package above it
        return False

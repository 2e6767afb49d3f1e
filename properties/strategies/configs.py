"""Training configurations that no rule complains of.

    accepted_configs(Mode.OFFLINE, Space(context=(2, 3)))   offline packing on 2 or 3 CP ranks

``broken_configs`` draws those that break one rule.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from hypothesis import strategies as st

from properties.strategies.choices import one_of
from reference_impl.config import CudaGraph, DatasetKind, ModelFamily, TrainingConfig
from reference_impl.hazards import WIDTH_STEP
from reference_impl.rules import pack_multiple

WORLDS = (1, 2, 3, 4, 8)
"""CP sizes; 3 makes multiples that are no power of two."""

USUAL_LENGTHS = (1, 512, 4096, 16384, 131072)
"""Where sequence lengths start; they lie up to 40 multiples above."""


class Mode(StrEnum):
    """How documents are packed."""

    NONE = "no packing"
    OFFLINE = "offline"
    IN_BATCH = "in-batch"


FAMILIES = {
    Mode.NONE: tuple(ModelFamily),
    Mode.OFFLINE: (ModelFamily.OTHER, ModelFamily.QWEN35_VL),
    Mode.IN_BATCH: (ModelFamily.OTHER, ModelFamily.QWEN3_NEXT, ModelFamily.GLM45),
}
"""Model families that go with each mode."""

QWEN35_KEY_HEADS = 16
"""Key heads of Qwen3.5's linear attention, which TP * CP ranks share (``linear_num_key_heads`` of its provider)."""


@dataclass(frozen=True)
class Space:
    """Values to draw from; the first of each is what a counterexample shrinks to.

    Attributes:
        context, tensor, pipeline: sizes of the parallel groups.
        sequence_parallel: used where there is more than one TP rank.
        kinds: kinds of dataset; packing is for fine-tuning only.
        families: model families, None for all that go with the mode.
        graphs: CUDA graphs, of which in-batch packing has none.
        shortest: at least this many tokens in a sequence.
    """

    context: tuple[int, ...] = WORLDS
    tensor: tuple[int, ...] = (1, 2, 4, 8)
    pipeline: tuple[int, ...] = (1, 2, 4)
    sequence_parallel: tuple[bool, ...] = (False, True)
    kinds: tuple[DatasetKind, ...] = tuple(DatasetKind)
    families: tuple[ModelFamily, ...] | None = None
    graphs: tuple[CudaGraph, ...] = (CudaGraph.NONE, CudaGraph.NONE, CudaGraph.ATTENTION, CudaGraph.FULL_ITERATION)
    shortest: int = 1


ANYWHERE = Space()


def draw_accepted_config(draw: st.DrawFn, mode: Mode, space: Space = ANYWHERE) -> TrainingConfig:
    """A configuration that breaks no rule and holds no hazard."""
    tensor = draw(one_of(space.tensor))
    sizes = TrainingConfig(
        context_parallel_size=draw(one_of(space.context)),
        tensor_parallel_size=tensor,
        pipeline_parallel_size=draw(one_of(space.pipeline)),
        sequence_parallel=tensor > 1 and draw(one_of(space.sequence_parallel)),
    )
    multiple = pack_multiple(sizes)
    usual = max(draw(one_of(USUAL_LENGTHS)), space.shortest)
    length = multiple * (-(-usual // multiple) + draw(st.integers(0, 40)))
    kind = DatasetKind.FINETUNING if mode is not Mode.NONE else draw(one_of(space.kinds))
    per_token = (kind is DatasetKind.FINETUNING and sizes.context_parallel_size > 1) or draw(st.booleans())
    config = replace(
        sizes,
        model_seq_length=length,
        dataset_seq_length=length,
        dataset_kind=kind,
        calculate_per_token_loss=per_token,
        average_in_collective=not per_token and draw(st.booleans()),
        mtp_num_layers=draw(one_of((None, 1, 2))) if mode is Mode.NONE else None,
        model_family=draw(one_of(_families(mode, space, sizes))),
    )
    if mode is Mode.IN_BATCH:
        return replace(config, pack_sequences_in_batch=True, micro_batch_size=draw(st.integers(2, 8)))
    graph = draw(one_of(space.graphs))
    if mode is Mode.NONE:
        micro_batch = draw(st.integers(1, 8))
        return replace(config, micro_batch_size=micro_batch, pad_to_max_length=draw(st.booleans()), cuda_graph=graph)
    static = graph is not CudaGraph.NONE or draw(st.booleans())
    return replace(
        config,
        offline_size=length + multiple * draw(st.integers(0, 40)),
        pad_seq_to_mult=_document_multiple(draw, sizes),
        cuda_graph=graph,
        pad_cu_seqlens=static,
        has_metadata_file=static or draw(st.booleans()),
        pad_to_max_length=static or WIDTH_STEP % multiple != 0 or draw(st.booleans()),
    )


accepted_configs = st.composite(draw_accepted_config)
"""Configurations that break no rule and hold no hazard."""


def _families(mode: Mode, space: Space, sizes: TrainingConfig) -> tuple[ModelFamily, ...]:
    """Families that can be cut for so many ranks."""
    families = space.families or FAMILIES[mode]
    if QWEN35_KEY_HEADS % (sizes.context_parallel_size * sizes.tensor_parallel_size) == 0:
        return families
    return tuple(family for family in families if family is not ModelFamily.QWEN35_VL)


def _document_multiple(draw: st.DrawFn, sizes: TrainingConfig) -> int | None:
    """What documents are padded to: on CP ranks a multiple of the least allowed one, else anything or nothing."""
    if sizes.context_parallel_size > 1:
        return pack_multiple(sizes) * draw(st.integers(1, 3))
    return draw(one_of((1, None, 2, 3, 16)))

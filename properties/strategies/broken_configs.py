"""Configurations that break one rule, drawn close to those that break none.

breaking("cp-pack-length")   offline packing with a pack size that CP may divide, but not 2 * CP
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from hypothesis import assume
from hypothesis import strategies as st

from properties.strategies.choices import one_of
from properties.strategies.configs import ANYWHERE, Mode, Space, draw_accepted_config
from reference_impl.config import CudaGraph, DatasetKind, ModelFamily, TrainingConfig
from reference_impl.rules import RULES, Severity, check, cp_multiple, pack_multiple

Spoil = Callable[[st.DrawFn, TrainingConfig], TrainingConfig]
"""Changes a configuration that breaks no rule."""


@dataclass(frozen=True)
class Breaker:
    """How a rule is broken.

    Attributes:
        spoil: makes the broken configuration.
        modes: modes that the rule can be broken in.
        space: what to start from.
        along: rules that may break with it.
    """

    spoil: Spoil
    modes: tuple[Mode, ...] = (Mode.OFFLINE,)
    space: Space = ANYWHERE
    along: tuple[str, ...] = ()


@st.composite
def breaking(draw: st.DrawFn, rule: str, mode: Mode | None = None) -> TrainingConfig:
    """Configurations whose only error is ``rule`` with what it brings along; for a hazard, without any error.

    Args:
        draw: given by Hypothesis.
        rule: id of the rule.
        mode: how documents are packed; by default any mode that the rule can be broken in.
    """
    breaker = BREAKERS[rule]
    start = draw_accepted_config(draw, mode or draw(one_of(breaker.modes)), breaker.space)
    config = breaker.spoil(draw, start)
    found = check(config)
    errors = {item.rule.id for item in found if item.rule.severity is Severity.ERROR}
    if RULES[rule].severity is Severity.ERROR:
        assume(errors.difference(breaker.along) == {rule, *RULES[rule].implies})
    else:
        assume(not errors and rule in {item.rule.id for item in found})
    return config


def beside(multiple: int) -> st.SearchStrategy[int]:
    """Numbers that ``multiple`` does not divide, mostly one off or half way: half of 2 * CP is divided by CP."""
    half = multiple // 2
    offsets = st.sampled_from((half, 1, multiple - 1, half)) | st.integers(1, multiple - 1)
    return st.tuples(st.integers(0, 300), offsets).map(lambda drawn: drawn[0] * multiple + drawn[1])


def _lengths(config: TrainingConfig, length: int) -> TrainingConfig:
    return replace(config, model_seq_length=length, dataset_seq_length=length)


def _both_modes(draw: st.DrawFn, config: TrainingConfig) -> TrainingConfig:
    return replace(config, pack_sequences_in_batch=True, micro_batch_size=draw(st.integers(1, 4)))


def _lengths_differ(draw: st.DrawFn, config: TrainingConfig) -> TrainingConfig:
    step = pack_multiple(config)
    offset = draw(one_of((1, step, config.model_seq_length, -1, -step)))
    return replace(config, dataset_seq_length=max(config.model_seq_length + offset, 1))


def _smaller_multiple(draw: st.DrawFn, config: TrainingConfig) -> int:
    """A number that fits 2 * CP, but not TP ranks that share sequences."""
    return cp_multiple(config) * draw(beside(pack_multiple(config) // cp_multiple(config)))


def _short_packs(draw: st.DrawFn, config: TrainingConfig) -> TrainingConfig:
    size = config.model_seq_length
    return replace(_lengths(config, size + pack_multiple(config) * draw(st.integers(1, 8))), offline_size=size)


_CP = (2, 3, 4, 8)
_GRAPHS = (CudaGraph.ATTENTION, CudaGraph.FULL_ITERATION)
_EVERY = tuple(Mode)
_PACKED = (Mode.OFFLINE, Mode.IN_BATCH)
_NO_GRAPH = Space(graphs=(CudaGraph.NONE,))
_GRAPH = Space(graphs=_GRAPHS)
_TUNED = Space(context=_CP, kinds=(DatasetKind.FINETUNING,), families=(ModelFamily.OTHER,))
"""Fine-tuning on CP ranks; the provider of Qwen3.5-VL corrects the loss settings by itself."""


BREAKERS: Mapping[str, Breaker] = {
    "one-packing-mode": Breaker(_both_modes, space=Space(families=(ModelFamily.OTHER,))),
    "offline-size-positive": Breaker(
        lambda draw, c: replace(c, offline_size=draw(one_of((0, -1, -c.model_seq_length))))
    ),
    "offline-micro-batch": Breaker(
        lambda draw, c: replace(c, micro_batch_size=draw(st.integers(2, 8))), space=Space(context=(1,))
    ),
    "thd-micro-batch": Breaker(
        lambda draw, c: replace(c, micro_batch_size=draw(st.integers(2, 8))), space=Space(context=_CP)
    ),
    "in-batch-micro-batch": Breaker(lambda _, c: replace(c, micro_batch_size=1), modes=(Mode.IN_BATCH,)),
    "lengths-agree": Breaker(_lengths_differ, modes=_EVERY),
    "cp-model-length": Breaker(
        lambda draw, c: _lengths(c, draw(beside(cp_multiple(c)))), modes=_EVERY, space=Space(context=_CP)
    ),
    "cp-pack-length": Breaker(
        lambda draw, c: replace(c, offline_size=draw(beside(cp_multiple(c)))), space=Space(context=_CP)
    ),
    "sp-pack-length": Breaker(
        lambda draw, c: replace(c, offline_size=_smaller_multiple(draw, c)),
        space=Space(tensor=(4, 8), sequence_parallel=(True,)),
    ),
    "document-multiple-positive": Breaker(
        lambda draw, c: replace(c, pad_seq_to_mult=draw(one_of((0, -1, -pack_multiple(c)))))
    ),
    "cp-document-multiple": Breaker(
        lambda draw, c: replace(c, pad_seq_to_mult=draw(beside(cp_multiple(c)) | st.sampled_from((1, None)))),
        space=Space(context=_CP),
    ),
    "sp-document-multiple": Breaker(
        lambda draw, c: replace(c, pad_seq_to_mult=_smaller_multiple(draw, c)),
        space=Space(context=_CP, tensor=(4, 8), sequence_parallel=(True,)),
    ),
    "cp-per-token-loss": Breaker(lambda _, c: replace(c, calculate_per_token_loss=False), modes=_EVERY, space=_TUNED),
    "cp-average-in-collective": Breaker(
        lambda _, c: replace(c, average_in_collective=True), modes=_EVERY, space=_TUNED
    ),
    "static-boundaries-width": Breaker(
        lambda _, c: replace(c, pad_cu_seqlens=True, has_metadata_file=True, pad_to_max_length=False), space=_NO_GRAPH
    ),
    "static-boundaries-metadata": Breaker(
        lambda _, c: replace(c, pad_cu_seqlens=True, has_metadata_file=False, pad_to_max_length=True)
    ),
    "graph-width": Breaker(
        lambda draw, c: replace(c, pad_cu_seqlens=False, pad_to_max_length=False, cuda_graph=draw(one_of(_GRAPHS))),
        modes=_PACKED,
        along=("graph-boundaries",),  # every kind of graph captures attention
    ),
    "graph-boundaries": Breaker(lambda _, c: replace(c, pad_cu_seqlens=False), space=_GRAPH),
    "mtp-finetuning": Breaker(lambda draw, c: replace(c, mtp_num_layers=draw(st.integers(1, 2))), modes=_PACKED),
    "qwen3-next-offline": Breaker(lambda _, c: replace(c, model_family=ModelFamily.QWEN3_NEXT)),
    "glm45-offline": Breaker(lambda _, c: replace(c, model_family=ModelFamily.GLM45)),
    "qwen35-vl-in-batch": Breaker(lambda _, c: replace(c, model_family=ModelFamily.QWEN35_VL), modes=(Mode.IN_BATCH,)),
    "pack-shorter-than-documents": Breaker(_short_packs),
    "width-step": Breaker(
        lambda _, c: replace(c, pad_cu_seqlens=False, pad_to_max_length=False),
        space=Space(context=(3,), graphs=(CudaGraph.NONE,)),
    ),
    "in-batch-graph": Breaker(
        lambda draw, c: replace(c, pad_to_max_length=True, cuda_graph=draw(one_of(_GRAPHS))),
        modes=(Mode.IN_BATCH,),
    ),
}
"""How each rule of the contract, and each hazard, is broken."""

"""Laws of configuration validation: what must not be refused."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from properties.claims import holds, same
from properties.law import Activity, law
from properties.strategies.broken_configs import breaking
from properties.strategies.configs import Mode, Space, accepted_configs
from reference_impl.config import CudaGraph, DatasetKind, ModelFamily, TrainingConfig
from reference_impl.interface import Implementation, Op
from reference_impl.presets import LONG_LENGTH, presets

_HARM = "a run that would have been right does not start"


def accepted(implementation: Implementation, config: TrainingConfig) -> None:
    """Claim that a configuration is accepted, without a word of refusal."""
    result = implementation.validate(config)
    holds(result.accepted, "a configuration that breaks no rule is accepted", got=result)
    same(tuple(result.errors), (), "what is accepted has no errors")


def of_acceptance(
    facet: str, configs: st.SearchStrategy[TrainingConfig], activity: Activity | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """One facet of the law that nothing else is refused."""

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        return law("CFG-001", needs={Op.VALIDATE}, harm=_HARM, sources=("P-CFG",), facet=facet, activity=activity)(
            given(config=configs)(test)
        )

    return decorate


def _several_cp_ranks(config: TrainingConfig) -> bool:
    return config.context_parallel_size > 1


def _sequence_parallel(config: TrainingConfig) -> bool:
    return config.sequence_parallel


def _pretraining(config: TrainingConfig) -> bool:
    return config.dataset_kind is DatasetKind.PRETRAINING


@of_acceptance("no packing", accepted_configs(Mode.NONE, Space(context=(1,))))
def test_a_run_without_packing_is_accepted(implementation: Implementation, config: TrainingConfig) -> None:
    """Without packing and context parallelism, any micro batch, loss and dataset are accepted."""
    accepted(implementation, config)


@of_acceptance("no packing, context parallelism", accepted_configs(Mode.NONE, Space(context=(2, 3, 4, 8))))
def test_an_unpacked_run_on_several_cp_ranks_is_accepted(
    implementation: Implementation, config: TrainingConfig
) -> None:
    """With context parallelism, pretraining is free in its loss and fine-tuning accepted with per-token loss."""
    accepted(implementation, config)


@of_acceptance("offline", accepted_configs(Mode.OFFLINE, Space(context=(1,), graphs=(CudaGraph.NONE,))))
def test_offline_packing_is_accepted(implementation: Implementation, config: TrainingConfig) -> None:
    """Offline packing with micro batch 1 is accepted, with whatever document multiple or none."""
    accepted(implementation, config)


@of_acceptance(
    "offline, context parallelism",
    accepted_configs(Mode.OFFLINE, Space(context=(2, 3, 4, 8), graphs=(CudaGraph.NONE,))),
    Activity("sequence parallelism", _sequence_parallel, 0.15),
)
def test_offline_packing_on_several_cp_ranks_is_accepted(
    implementation: Implementation, config: TrainingConfig
) -> None:
    """Offline packing with context parallelism is accepted when documents are padded to lcm(2 * CP, CP * TP)."""
    accepted(implementation, config)


@of_acceptance(
    "offline, CUDA graphs",
    accepted_configs(Mode.OFFLINE, Space(graphs=(CudaGraph.ATTENTION, CudaGraph.FULL_ITERATION))),
)
def test_offline_packing_with_cuda_graphs_is_accepted(implementation: Implementation, config: TrainingConfig) -> None:
    """CUDA graphs go with offline packing when width and boundaries have constant size."""
    accepted(implementation, config)


@of_acceptance(
    "in-batch",
    accepted_configs(Mode.IN_BATCH, Space(pipeline=(1,))),
    Activity("context parallelism", _several_cp_ranks, 0.3),
)
def test_in_batch_packing_is_accepted(implementation: Implementation, config: TrainingConfig) -> None:
    """In-batch packing with two or more rows in a micro batch is accepted."""
    accepted(implementation, config)


@of_acceptance("in-batch, pipeline", accepted_configs(Mode.IN_BATCH, Space(pipeline=(2, 4))))
def test_in_batch_packing_on_pipeline_stages_needs_nothing_more(
    implementation: Implementation, config: TrainingConfig
) -> None:
    """In-batch packing with pipeline parallelism is accepted: variable lengths are the framework's business."""
    accepted(implementation, config)


@of_acceptance(
    "long context",
    accepted_configs(Mode.NONE, Space(context=(2, 4, 8), shortest=LONG_LENGTH)),
    Activity("pretraining", _pretraining, 0.2),
)
def test_long_context_is_accepted(implementation: Implementation, config: TrainingConfig) -> None:
    """Sequences of 16384 tokens and more on 2 to 8 CP ranks are accepted."""
    accepted(implementation, config)


@of_acceptance(
    "opt-out families",
    accepted_configs(Mode.OFFLINE, Space(families=(ModelFamily.QWEN35_VL,), context=(1, 2, 4), tensor=(1, 2, 4)))
    | accepted_configs(Mode.IN_BATCH, Space(families=(ModelFamily.QWEN3_NEXT, ModelFamily.GLM45))),
)
def test_a_model_family_opts_out_of_its_own_path_only(implementation: Implementation, config: TrainingConfig) -> None:
    """Families that do not support one mode of packing are accepted in the other."""
    accepted(implementation, config)


@law("CFG-002", needs={Op.VALIDATE}, harm=_HARM, sources=("docs/training/packed-sequences.md", "P-CFG"))
@given(config=st.sampled_from(tuple(presets().values())))
def test_presets_are_accepted(implementation: Implementation, config: TrainingConfig) -> None:
    """The documented settings of each mode of packing are accepted."""
    accepted(implementation, config)


@law("CFG-003", needs={Op.VALIDATE}, harm=_HARM, sources=("S6", "S32", "P-CFG"))
@given(config=st.sampled_from(("pack-shorter-than-documents", "width-step", "in-batch-graph")).flatmap(breaking))
def test_a_hazard_is_no_reason_to_refuse(implementation: Implementation, config: TrainingConfig) -> None:
    """A configuration that is allowed and may still go wrong is accepted."""
    accepted(implementation, config)

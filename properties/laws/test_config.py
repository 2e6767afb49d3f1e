"""Laws of configuration validation: what must be refused, with a message. One law for each rule of the contract."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given

from properties.claims import holds
from properties.law import Activity, law
from properties.strategies.broken_configs import breaking
from properties.strategies.configs import Mode
from reference_impl.config import TrainingConfig
from reference_impl.interface import Implementation, Op
from reference_impl.rules import RULES, check, verdict


def refused(implementation: Implementation, config: TrainingConfig) -> None:
    """Claim that a configuration is refused, and that the refusal says something."""
    result = implementation.validate(config)
    reasons = " ".join(verdict(check(config)).errors)
    holds(not result.accepted, f"a run that breaks a rule is refused ({reasons})", got=result)
    holds(result.errors and all(error.strip() for error in result.errors), "a refusal says why", got=result.errors)


def of_rule(
    id: str, rule: str, mode: Mode | None = None, activity: Activity | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The law that ``rule`` is enforced, for configurations that break nothing else."""
    entry = RULES[rule]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        return law(
            id,
            needs={Op.VALIDATE},
            harm=entry.harm,
            sources=(f"rule {rule}", entry.source),
            facet=mode.value if mode else "",
            activity=activity,
        )(given(config=breaking(rule, mode))(test))

    return decorate


def _cp_divides_the_length(config: TrainingConfig) -> bool:
    return config.model_seq_length % config.context_parallel_size == 0


def _cp_divides_the_pack(config: TrainingConfig) -> bool:
    return (config.offline_size or 0) % config.context_parallel_size == 0


def _cp_divides_the_multiple(config: TrainingConfig) -> bool:
    return (config.pad_seq_to_mult or 1) % config.context_parallel_size == 0


_HALF_LENGTH = Activity("a length that CP divides and 2 * CP does not", _cp_divides_the_length, 0.1)
_HALF_PACK = Activity("a pack size that CP divides and 2 * CP does not", _cp_divides_the_pack, 0.1)
_HALF_MULTIPLE = Activity("a multiple that CP divides and 2 * CP does not", _cp_divides_the_multiple, 0.1)


@of_rule("CFG-010", "one-packing-mode")
def test_offline_and_in_batch_packing_exclude_each_other(
    implementation: Implementation, config: TrainingConfig
) -> None:
    """Both modes of packing at once are refused, whatever the micro batch."""
    refused(implementation, config)


@of_rule("CFG-011", "offline-size-positive")
def test_a_pack_without_slots_is_refused(implementation: Implementation, config: TrainingConfig) -> None:
    """Offline packing into packs of no or negative size is refused."""
    refused(implementation, config)


@of_rule("CFG-012", "offline-micro-batch")
def test_offline_packing_takes_micro_batch_one(implementation: Implementation, config: TrainingConfig) -> None:
    """Offline packing with a micro batch above 1 is refused."""
    refused(implementation, config)


@of_rule("CFG-013", "thd-micro-batch")
def test_context_parallel_slicing_takes_one_packed_row(implementation: Implementation, config: TrainingConfig) -> None:
    """Offline packing on several CP ranks with a micro batch above 1 is refused."""
    refused(implementation, config)


@of_rule("CFG-014", "in-batch-micro-batch")
def test_in_batch_packing_takes_two_rows_or_more(implementation: Implementation, config: TrainingConfig) -> None:
    """In-batch packing of a micro batch of 1 is refused."""
    refused(implementation, config)


@of_rule("CFG-020", "lengths-agree", Mode.NONE)
def test_model_and_dataset_agree_on_the_length(implementation: Implementation, config: TrainingConfig) -> None:
    """Different sequence lengths of model and dataset are refused without packing."""
    refused(implementation, config)


@of_rule("CFG-020", "lengths-agree", Mode.OFFLINE)
def test_model_and_packed_dataset_agree_on_the_length(implementation: Implementation, config: TrainingConfig) -> None:
    """Different sequence lengths of model and dataset are refused with offline packing."""
    refused(implementation, config)


@of_rule("CFG-020", "lengths-agree", Mode.IN_BATCH)
def test_model_and_in_batch_dataset_agree_on_the_length(
    implementation: Implementation, config: TrainingConfig
) -> None:
    """Different sequence lengths of model and dataset are refused with in-batch packing."""
    refused(implementation, config)


@of_rule("CFG-021", "cp-model-length", Mode.NONE, _HALF_LENGTH)
def test_two_cp_chunks_per_rank_fit_the_length(implementation: Implementation, config: TrainingConfig) -> None:
    """A sequence length that 2 * CP does not divide is refused without packing."""
    refused(implementation, config)


@of_rule("CFG-021", "cp-model-length", Mode.OFFLINE, _HALF_LENGTH)
def test_two_cp_chunks_per_rank_fit_the_length_of_packed_runs(
    implementation: Implementation, config: TrainingConfig
) -> None:
    """A sequence length that 2 * CP does not divide is refused with offline packing."""
    refused(implementation, config)


@of_rule("CFG-021", "cp-model-length", Mode.IN_BATCH, _HALF_LENGTH)
def test_two_cp_chunks_per_rank_fit_the_length_of_in_batch_runs(
    implementation: Implementation, config: TrainingConfig
) -> None:
    """A sequence length that 2 * CP does not divide is refused with in-batch packing."""
    refused(implementation, config)


@of_rule("CFG-022", "cp-pack-length", activity=_HALF_PACK)
def test_two_cp_chunks_per_rank_fit_a_pack(implementation: Implementation, config: TrainingConfig) -> None:
    """A pack size that 2 * CP does not divide is refused."""
    refused(implementation, config)


@of_rule("CFG-023", "sp-pack-length")
def test_sequence_parallel_ranks_share_a_pack_evenly(implementation: Implementation, config: TrainingConfig) -> None:
    """With sequence parallelism, a pack size that CP * TP does not divide is refused."""
    refused(implementation, config)


@of_rule("CFG-030", "document-multiple-positive")
def test_a_document_multiple_is_one_or_more(implementation: Implementation, config: TrainingConfig) -> None:
    """Padding documents to a multiple below 1 is refused."""
    refused(implementation, config)


@of_rule("CFG-031", "cp-document-multiple", activity=_HALF_MULTIPLE)
def test_two_cp_chunks_per_rank_fit_every_document(implementation: Implementation, config: TrainingConfig) -> None:
    """With context parallelism, documents that are not padded to a multiple of 2 * CP are refused."""
    refused(implementation, config)


@of_rule("CFG-032", "sp-document-multiple")
def test_sequence_parallel_ranks_share_documents_evenly(
    implementation: Implementation, config: TrainingConfig
) -> None:
    """With context and sequence parallelism, documents padded to 2 * CP but not to CP * TP are refused."""
    refused(implementation, config)


@of_rule("CFG-040", "cp-per-token-loss", Mode.NONE)
def test_fine_tuning_on_cp_ranks_takes_per_token_loss(implementation: Implementation, config: TrainingConfig) -> None:
    """Fine-tuning on several CP ranks without per-token loss is refused without packing."""
    refused(implementation, config)


@of_rule("CFG-040", "cp-per-token-loss", Mode.OFFLINE)
def test_packed_fine_tuning_on_cp_ranks_takes_per_token_loss(
    implementation: Implementation, config: TrainingConfig
) -> None:
    """Fine-tuning on several CP ranks without per-token loss is refused with offline packing."""
    refused(implementation, config)


@of_rule("CFG-040", "cp-per-token-loss", Mode.IN_BATCH)
def test_in_batch_fine_tuning_on_cp_ranks_takes_per_token_loss(
    implementation: Implementation, config: TrainingConfig
) -> None:
    """Fine-tuning on several CP ranks without per-token loss is refused with in-batch packing."""
    refused(implementation, config)


@of_rule("CFG-041", "cp-average-in-collective", Mode.NONE)
def test_fine_tuning_on_cp_ranks_does_not_average_gradients(
    implementation: Implementation, config: TrainingConfig
) -> None:
    """Fine-tuning on several CP ranks with averaging collectives is refused without packing."""
    refused(implementation, config)


@of_rule("CFG-041", "cp-average-in-collective", Mode.OFFLINE)
def test_packed_fine_tuning_on_cp_ranks_does_not_average_gradients(
    implementation: Implementation, config: TrainingConfig
) -> None:
    """Fine-tuning on several CP ranks with averaging collectives is refused with offline packing."""
    refused(implementation, config)


@of_rule("CFG-041", "cp-average-in-collective", Mode.IN_BATCH)
def test_in_batch_fine_tuning_on_cp_ranks_does_not_average_gradients(
    implementation: Implementation, config: TrainingConfig
) -> None:
    """Fine-tuning on several CP ranks with averaging collectives is refused with in-batch packing."""
    refused(implementation, config)


@of_rule("CFG-050", "static-boundaries-width")
def test_boundaries_of_constant_length_need_packs_of_constant_width(
    implementation: Implementation, config: TrainingConfig
) -> None:
    """``pad_cu_seqlens`` without ``pad_to_max_length`` is refused."""
    refused(implementation, config)


@of_rule("CFG-051", "static-boundaries-metadata")
def test_boundaries_of_constant_length_need_the_metadata_file(
    implementation: Implementation, config: TrainingConfig
) -> None:
    """``pad_cu_seqlens`` without the metadata file of the packed data is refused."""
    refused(implementation, config)


@of_rule("CFG-052", "graph-width", Mode.OFFLINE)
def test_cuda_graphs_need_packs_of_constant_width(implementation: Implementation, config: TrainingConfig) -> None:
    """CUDA graphs with offline packs of any width and any number of boundaries are refused."""
    refused(implementation, config)


@of_rule("CFG-052", "graph-width", Mode.IN_BATCH)
def test_cuda_graphs_need_in_batch_packs_of_constant_width(
    implementation: Implementation, config: TrainingConfig
) -> None:
    """CUDA graphs with in-batch packs of any width are refused."""
    refused(implementation, config)


@of_rule("CFG-053", "graph-boundaries")
def test_cuda_graphs_of_attention_need_boundaries_of_constant_length(
    implementation: Implementation, config: TrainingConfig
) -> None:
    """CUDA graphs that capture attention without ``pad_cu_seqlens`` are refused."""
    refused(implementation, config)


@of_rule("CFG-060", "mtp-finetuning", Mode.OFFLINE)
def test_mtp_fine_tuning_does_not_go_with_offline_packing(
    implementation: Implementation, config: TrainingConfig
) -> None:
    """Fine-tuning with multi-token prediction is refused with offline packing."""
    refused(implementation, config)


@of_rule("CFG-060", "mtp-finetuning", Mode.IN_BATCH)
def test_mtp_fine_tuning_does_not_go_with_in_batch_packing(
    implementation: Implementation, config: TrainingConfig
) -> None:
    """Fine-tuning with multi-token prediction is refused with in-batch packing."""
    refused(implementation, config)


@of_rule("CFG-061", "qwen3-next-offline")
def test_qwen3_next_opts_out_of_offline_packing(implementation: Implementation, config: TrainingConfig) -> None:
    """Offline packing for Qwen3-Next is refused."""
    refused(implementation, config)


@of_rule("CFG-062", "glm45-offline")
def test_glm45_opts_out_of_offline_packing(implementation: Implementation, config: TrainingConfig) -> None:
    """Offline packing for GLM-4.5 is refused."""
    refused(implementation, config)


@of_rule("CFG-063", "qwen35-vl-in-batch")
def test_qwen35_vl_opts_out_of_in_batch_packing(implementation: Implementation, config: TrainingConfig) -> None:
    """In-batch packing for Qwen3.5-VL is refused."""
    refused(implementation, config)

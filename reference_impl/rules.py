"""Rules that a training configuration with packing must obey, as a table.

    [broken] = check(TrainingConfig(offline_size=4096, micro_batch_size=4))
    broken.rule.id   "offline-micro-batch"
    broken.message   "train.micro_batch_size = 4: an offline pack is already a batch of documents; set it to 1 and ..."

The contract follows from what packing, context parallelism and CUDA graphs need, whether or not a release looks;
``hazards`` adds what is allowed and may still go wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from reference_impl.config import CudaGraph, DatasetKind, ModelFamily, TrainingConfig, Validation
from reference_impl.hazards import HAZARDS, PAST_DEFECTS
from reference_impl.rule import BrokenRule, Rule, Severity, cp_multiple, pack_multiple, pack_size

__all__ = ["RULES", "BrokenRule", "Rule", "Severity", "check", "cp_multiple", "pack_multiple", "pack_size", "verdict"]


def check(config: TrainingConfig, release: str | None = None) -> tuple[BrokenRule, ...]:
    """Rules that a configuration breaks, in the order of the table.

    Args:
        config: what is checked.
        release: Megatron Bridge release that the run will use (``"0.5.1"``), which adds that release's own defects;
            None asks for the standing rules.

    Raises:
        PackingError: ``release`` is no release number.
    """
    rules = [rule for rule in RULES.values() if rule.holds_for(release)]
    return tuple(BrokenRule(rule, rule.message(config)) for rule in rules if rule.condition(config))


def verdict(broken: Iterable[BrokenRule]) -> Validation:
    """What broken rules mean for a run: errors refuse it, warnings do not."""
    errors = tuple(item.message for item in broken if item.rule.severity is Severity.ERROR)
    return Validation(accepted=not errors, errors=errors)


def _offline(c: TrainingConfig) -> bool:
    return pack_size(c) > 0


def _both(c: TrainingConfig) -> bool:
    return _offline(c) and c.pack_sequences_in_batch


def _packs(c: TrainingConfig) -> bool:
    return _offline(c) or c.pack_sequences_in_batch


def _tunes_with_cp(c: TrainingConfig) -> bool:
    return c.dataset_kind is DatasetKind.FINETUNING and c.context_parallel_size > 1


def _document_multiple(c: TrainingConfig) -> int:
    return 1 if c.pad_seq_to_mult is None else c.pad_seq_to_mult


def _packing(c: TrainingConfig) -> str:
    """The setting that switches packing on."""
    return f"packed_sequence_size = {c.offline_size}" if _offline(c) else "dataset.pack_sequences_in_batch = True"


def _nearest(value: int, multiple: int) -> str:
    below, above = value // multiple * multiple, -(-value // multiple) * multiple
    return f"{below} or {above}" if below > 0 else str(above)


CONTRACT = (
    # One packing mode, with its own micro-batch rule -----------------------------------------------------------------
    Rule(
        id="one-packing-mode",
        condition=_both,
        message=lambda c: (
            f"dataset.pack_sequences_in_batch = True with packed_sequence_size = {c.offline_size}: in-batch and"
            " offline packing exclude each other; set the former to False or remove packed_sequence_specs."
        ),
        harm="no micro batch size suits both modes, and packs are packed again without their boundaries",
        source="S29; Megatron-Bridge 0.6.0 config validation",
        enforced_since="0.6.0",
    ),
    Rule(
        id="offline-size-positive",
        condition=lambda c: c.offline_size is not None and c.offline_size < 1,
        message=lambda c: (
            f"dataset.packed_sequence_specs.packed_sequence_size = {c.offline_size}: a pack holds at least one token;"
            " give its size, or remove packed_sequence_specs to switch offline packing off."
        ),
        harm="packing is silently off, and a step that looks for packs finds none",
        source="S29; Megatron-Bridge 0.6.0 config validation; up to 0.5.1 the documented way to switch packing off",
        since="0.6.0",
        enforced_since="0.6.0",
    ),
    Rule(
        id="offline-micro-batch",
        condition=lambda c: _offline(c) and not _both(c) and c.micro_batch_size > 1,
        message=lambda c: (
            f"train.micro_batch_size = {c.micro_batch_size}: an offline pack is already a batch of documents; set it"
            f" to 1 and divide train.global_batch_size by {c.micro_batch_size}."
        ),
        harm="rows of a micro batch have different boundaries, of which a kernel can take only one set",
        source="MB-39, Megatron-Bridge #174; docs/training/packed-sequences.md",
        enforced_since="0.1.0",
    ),
    Rule(
        id="thd-micro-batch",
        condition=lambda c: _offline(c) and not _both(c) and c.context_parallel_size > 1 and c.micro_batch_size > 1,
        message=lambda c: (
            f"train.micro_batch_size = {c.micro_batch_size} with model.context_parallel_size ="
            f" {c.context_parallel_size}: context-parallel slicing of a packed (THD) batch takes one row; set the"
            " micro batch size to 1."
        ),
        harm="the first step stops: boundaries of several rows cannot be sliced together",
        source="packed THD restriction in gpt_step of Megatron-Bridge (section 4.2)",
        enforced_since="0.1.0",
        implies=("offline-micro-batch",),
    ),
    Rule(
        id="in-batch-micro-batch",
        condition=lambda c: c.pack_sequences_in_batch and not _both(c) and c.micro_batch_size <= 1,
        message=lambda c: (
            f"train.micro_batch_size = {c.micro_batch_size} with dataset.pack_sequences_in_batch = True: in-batch"
            " packing joins the rows of one micro batch; set the micro batch size to 2 or more."
        ),
        harm="nothing is packed: every pack holds one document",
        source="Megatron-Bridge config validation (section 5)",
        enforced_since="0.3.1",
    ),
    # Lengths ---------------------------------------------------------------------------------------------------------
    Rule(
        id="lengths-agree",
        condition=lambda c: c.model_seq_length != c.dataset_seq_length,
        message=lambda c: (
            f"dataset.seq_length = {c.dataset_seq_length} differs from model.seq_length = {c.model_seq_length}:"
            " set both to the same length."
        ),
        harm="documents are cut to a length that the model was not built for",
        source="Megatron-Bridge config validation (section 5)",
        enforced_since="0.3.1",
    ),
    Rule(
        id="cp-model-length",
        condition=lambda c: c.model_seq_length % cp_multiple(c) != 0,
        message=lambda c: (
            f"model.seq_length = {c.model_seq_length}: with model.context_parallel_size = {c.context_parallel_size}"
            f" the sequence length must be divisible by {cp_multiple(c)}; set it to"
            f" {_nearest(c.model_seq_length, cp_multiple(c))}."
        ),
        harm="a sequence cannot be cut into two chunks per CP rank",
        source="MB-40, Megatron-Bridge #374",
        enforced_since="0.2.0",
    ),
    Rule(
        id="cp-pack-length",
        condition=lambda c: pack_size(c) % cp_multiple(c) != 0,
        message=lambda c: (
            f"dataset.packed_sequence_specs.packed_sequence_size = {c.offline_size}: with model.context_parallel_size"
            f" = {c.context_parallel_size} it must be divisible by {cp_multiple(c)}; set it to"
            f" {_nearest(pack_size(c), cp_multiple(c))}."
        ),
        harm="the tail of a full pack is trained on by two CP ranks or by none",
        source="S31; docs/training/packed-sequences.md",
    ),
    Rule(
        id="sp-pack-length",
        condition=lambda c: pack_size(c) % cp_multiple(c) == 0 and pack_size(c) % pack_multiple(c) != 0,
        message=lambda c: (
            f"dataset.packed_sequence_specs.packed_sequence_size = {c.offline_size}: with model.sequence_parallel it"
            f" must be divisible by {pack_multiple(c)}, that is lcm(2*CP, CP*TP); set it to"
            f" {_nearest(pack_size(c), pack_multiple(c))}."
        ),
        harm="TP ranks cannot share a full pack evenly, and the first reduce-scatter stops",
        source="S31; ML-06, Megatron-LM #2574",
    ),
    # Padding of documents --------------------------------------------------------------------------------------------
    Rule(
        id="document-multiple-positive",
        condition=lambda c: c.offline_size is not None and _document_multiple(c) < 1,
        message=lambda c: (
            f"dataset.packed_sequence_specs.pad_seq_to_mult = {c.pad_seq_to_mult}: a multiple is 1 or more; leave it"
            " out (or give 1) to pad nothing."
        ),
        harm="documents are not padded although someone asked for it",
        source="Megatron-Bridge PackedSequenceSpecs (section 2.12)",
        enforced_since="0.3.1",
    ),
    Rule(
        id="cp-document-multiple",
        condition=lambda c: _offline(c) and _document_multiple(c) >= 1 and _document_multiple(c) % cp_multiple(c) != 0,
        message=lambda c: (
            f"dataset.packed_sequence_specs.pad_seq_to_mult = {c.pad_seq_to_mult}: with model.context_parallel_size ="
            f" {c.context_parallel_size} every document must be padded to a multiple of {pack_multiple(c)}; set it to"
            f" {pack_multiple(c)} and pack again."
        ),
        harm="slots of a document are owned by two CP ranks or by none, silently where device asserts are off",
        source="S31; docs/training/packed-sequences.md",
    ),
    Rule(
        id="sp-document-multiple",
        condition=lambda c: (
            _offline(c)
            and c.context_parallel_size > 1
            and _document_multiple(c) >= 1
            and _document_multiple(c) % cp_multiple(c) == 0
            and _document_multiple(c) % pack_multiple(c) != 0
        ),
        message=lambda c: (
            f"dataset.packed_sequence_specs.pad_seq_to_mult = {c.pad_seq_to_mult}: with model.sequence_parallel every"
            f" document must be padded to a multiple of {pack_multiple(c)}, that is lcm(2*CP, CP*TP); set it to"
            f" {pack_multiple(c)} and pack again."
        ),
        harm="TP ranks cannot share a pack evenly",
        source="S31; Megatron-Bridge #2932; padding multiple in vlm_step (section 3.1)",
    ),
    # Loss ------------------------------------------------------------------------------------------------------------
    Rule(
        id="cp-per-token-loss",
        condition=lambda c: _tunes_with_cp(c) and not c.calculate_per_token_loss,
        message=lambda c: (
            "model.calculate_per_token_loss = False: fine-tuning with model.context_parallel_size ="
            f" {c.context_parallel_size} needs it to be True."
        ),
        harm="a CP rank whose part holds no trainable token divides by zero: the loss is NaN",
        source="MB-40, Megatron-Bridge #374",
        enforced_since="0.2.0",
    ),
    Rule(
        id="cp-average-in-collective",
        condition=lambda c: _tunes_with_cp(c) and c.average_in_collective,
        message=lambda c: (
            "ddp.average_in_collective = True: fine-tuning with model.context_parallel_size ="
            f" {c.context_parallel_size} needs it to be False."
        ),
        harm="gradients that are summed per token are averaged over ranks as well",
        source="MB-40, Megatron-Bridge #374",
        enforced_since="0.2.0",
    ),
    # Static shapes ---------------------------------------------------------------------------------------------------
    Rule(
        id="static-boundaries-width",
        condition=lambda c: _offline(c) and c.pad_cu_seqlens and not c.pad_to_max_length,
        message=lambda _: (
            "dataset.dataset_kwargs.pad_to_max_length = False: dataset.packed_sequence_specs.pad_cu_seqlens = True"
            " needs it to be True."
        ),
        harm="boundaries of constant length describe packs of another width in every batch",
        source="Megatron-Bridge GPTSFTPackedDataset; config validation since 0.6.0 (section 5)",
        enforced_since="0.6.0",
    ),
    Rule(
        id="static-boundaries-metadata",
        condition=lambda c: _offline(c) and c.pad_cu_seqlens and not c.has_metadata_file,
        message=lambda _: (
            "dataset.packed_sequence_specs.packed_metadata_path is missing: pad_cu_seqlens = True reads the most"
            " documents per pack from it; name the metadata file that was written when the data was packed."
        ),
        harm="the run stops when the dataset is opened",
        source="Megatron-Bridge GPTSFTPackedDataset (section 2.13)",
    ),
    Rule(
        id="graph-width",
        condition=lambda c: _packs(c) and c.cuda_graph is not CudaGraph.NONE and not c.pad_to_max_length,
        message=lambda c: (
            f"dataset.dataset_kwargs.pad_to_max_length = False: CUDA graphs ({c.cuda_graph}) replay packs of one"
            " width; set it to True or switch CUDA graphs off."
        ),
        harm="a graph captured for one width is replayed on another",
        source="Megatron-Bridge 0.6.0 config validation (section 5)",
        enforced_since="0.6.0",
    ),
    Rule(
        id="graph-boundaries",
        condition=lambda c: _offline(c) and c.cuda_graph is not CudaGraph.NONE and not c.pad_cu_seqlens,
        message=lambda c: (
            f"dataset.packed_sequence_specs.pad_cu_seqlens = False: CUDA graphs of attention ({c.cuda_graph})"
            " need boundaries of constant length; set it to True or leave attention out of the graph."
        ),
        harm="a graph captured for one number of documents is replayed on another",
        source="Megatron-Bridge 0.6.0 config validation (section 5)",
        enforced_since="0.6.0",
    ),
    # What does not go with packing -----------------------------------------------------------------------------------
    Rule(
        id="mtp-finetuning",
        condition=lambda c: _packs(c) and c.dataset_kind is DatasetKind.FINETUNING and (c.mtp_num_layers or 0) > 0,
        message=lambda c: (
            f"model.mtp_num_layers = {c.mtp_num_layers}: fine-tuning with MTP cannot use packed sequences"
            f" ({_packing(c)}); switch packing off or set model.mtp_num_layers to null."
        ),
        harm="MTP predicts tokens of the next document and trains on prompts and padding",
        source="S31; MB-47; docs/training/multi-token-prediction.md",
    ),
    Rule(
        id="qwen3-next-offline",
        condition=lambda c: _offline(c) and c.model_family is ModelFamily.QWEN3_NEXT,
        message=lambda c: (
            f"dataset.packed_sequence_specs.packed_sequence_size = {c.offline_size}: SFT of Qwen3-Next does not"
            " support offline packing; remove packed_sequence_specs."
        ),
        harm="recurrent state flows from one document into the next",
        source="recipes/qwen/qwen3_next.py (section 5); AM-02",
    ),
    Rule(
        id="glm45-offline",
        condition=lambda c: _offline(c) and c.model_family is ModelFamily.GLM45,
        message=lambda c: (
            f"dataset.packed_sequence_specs.packed_sequence_size = {c.offline_size}: SFT and PEFT of GLM-4.5 do not"
            " support offline packing; remove packed_sequence_specs."
        ),
        harm="nobody has shown that documents of a pack stay apart in this family",
        source="recipes/glm/glm45.py (section 5)",
    ),
    Rule(
        id="qwen35-vl-in-batch",
        condition=lambda c: c.pack_sequences_in_batch and c.model_family is ModelFamily.QWEN35_VL,
        message=lambda _: (
            "dataset.pack_sequences_in_batch = True: Qwen3.5-VL does not support in-batch packing; set it to False."
        ),
        harm="nobody has shown that documents of a pack stay apart in this family",
        source="recipes/qwen_vl/qwen35_vl.py (section 5)",
    ),
)
"""What every release is held to."""

RULES: Mapping[str, Rule] = {rule.id: rule for rule in (*CONTRACT, *HAZARDS, *PAST_DEFECTS)}
"""Every rule by id."""

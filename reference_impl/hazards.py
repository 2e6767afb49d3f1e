"""Rules beside the contract: hazards of a configuration that is allowed, and defects of past Bridge releases."""

from __future__ import annotations

from reference_impl.config import CudaGraph
from reference_impl.rule import Rule, Severity, pack_multiple, pack_size

WIDTH_STEP = 16
"""Without ``pad_to_max_length`` Bridge rounds the width of a batch up to a multiple of this (S32)."""

HAZARDS = (
    Rule(
        id="pack-shorter-than-documents",
        condition=lambda c: 0 < pack_size(c) < c.dataset_seq_length,
        message=lambda c: (
            f"dataset.packed_sequence_specs.packed_sequence_size = {c.offline_size} is below dataset.seq_length ="
            f" {c.dataset_seq_length}: one document longer than a pack stops the preparation; raise the pack size to"
            " the sequence length."
        ),
        harm="preparing the data ends in a bare KeyError when one document is longer than a pack",
        source="S6, MB-10",
        severity=Severity.WARNING,
    ),
    Rule(
        id="width-step",
        condition=lambda c: (pack_size(c) > 0 and not c.pad_to_max_length and WIDTH_STEP % pack_multiple(c) != 0),
        message=lambda c: (
            f"dataset.dataset_kwargs.pad_to_max_length = False: batches are then padded to a multiple of {WIDTH_STEP},"
            f" not of {pack_multiple(c)} (CP {c.context_parallel_size}, TP {c.tensor_parallel_size}); set it to True."
        ),
        harm="the tail of a batch cannot be shared by the ranks",
        source="S32",
        severity=Severity.WARNING,
    ),
    Rule(
        id="in-batch-graph",
        condition=lambda c: c.pack_sequences_in_batch and c.cuda_graph is not CudaGraph.NONE,
        message=lambda c: (
            f"dataset.pack_sequences_in_batch = True with CUDA graphs ({c.cuda_graph}): in-batch packs have another"
            " width in every step; switch CUDA graphs off."
        ),
        harm="a graph captured for one width is replayed on another",
        source="section 3.1",
        severity=Severity.WARNING,
    ),
)
"""What is allowed and may still go wrong."""

PAST_DEFECTS = (
    Rule(
        id="middle-stages-lose-boundaries",
        condition=lambda c: pack_size(c) > 0 and c.pipeline_parallel_size > 2,
        message=lambda c: (
            f"model.pipeline_model_parallel_size = {c.pipeline_parallel_size}: up to Bridge 0.4.2 the middle stages"
            " attend across the documents of a pack; use at most 2 stages or a later release."
        ),
        harm="training runs and the model is worse by many benchmark points",
        source="S4; MB-20, Megatron-Bridge #2952",
        until="0.4.2",
    ),
    Rule(
        id="sentinels-in-slicing",
        condition=lambda c: pack_size(c) > 0 and c.context_parallel_size > 1,
        message=lambda c: (
            f"model.context_parallel_size = {c.context_parallel_size}: up to Bridge 0.4.2 the slicing of offline packs"
            " takes the -1 sentinels of cu_seqlens for boundaries; use a later release."
        ),
        harm="a device assert stops the run, or slots are lost where asserts are off",
        source="S13; MB-11, Megatron-Bridge #4489",
        severity=Severity.WARNING,
        until="0.4.2",
    ),
    Rule(
        id="in-batch-collation",
        condition=lambda c: c.pack_sequences_in_batch,
        message=lambda _: (
            "dataset.pack_sequences_in_batch = True: in Bridge 0.5.1 most collate functions of Hugging Face VLM"
            " datasets refuse it; use another release or set it to False."
        ),
        harm="the run stops at its first batch",
        source="S5",
        severity=Severity.WARNING,
        since="0.5.1",
        until="0.5.1",
    ),
    Rule(
        id="document-multiple-none",
        condition=lambda c: pack_size(c) > 0 and c.pad_seq_to_mult is None,
        message=lambda _: (
            "dataset.packed_sequence_specs.pad_seq_to_mult = None: allowed by its type, it ends in a TypeError up to"
            " Bridge 0.6.0; write 1."
        ),
        harm="the run stops while data is prepared or at its first batch",
        source="S7",
        severity=Severity.WARNING,
        until="0.6.0",
    ),
)
"""What was mended: each holds up to a release and is asked for by naming one."""

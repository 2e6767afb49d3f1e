"""Museum: MB-21."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.config import TrainingConfig, Validation
from reference_impl.reference import ReferenceImplementation
from reference_impl.rules import check, verdict


@bug(
    "MB-21",
    area="config validation / pipeline",
    suffered="in-batch packing could not start on pipeline stages: receive buffers had one fixed length",
    source="Megatron-Bridge #2825",
)
class FixedPipelineBuffers(ReferenceImplementation):
    """Nobody tells the pipeline that lengths vary, so that a run with in-batch packs does not start."""

    def validate(self, config: TrainingConfig) -> Validation:
        found = verdict(check(config))
        if config.pack_sequences_in_batch and config.pipeline_parallel_size > 1:
            return Validation(accepted=False, errors=(*found.errors, "pipeline buffers have a fixed length"))
        return found

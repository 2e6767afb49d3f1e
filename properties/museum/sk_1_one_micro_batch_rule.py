"""Museum: SK-1."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.config import DatasetKind, TrainingConfig, Validation
from reference_impl.reference import ReferenceImplementation
from reference_impl.rules import check, verdict


@bug(
    "SK-1",
    area="config validation",
    suffered="in-batch runs and unpacked runs had to use a micro batch of 1, where nothing is packed",
    source="Megatron-Bridge skill perf-sequence-packing, pitfall 1, ignored",
)
class OneMicroBatchRule(ReferenceImplementation):
    """All fine-tuning is held to the micro-batch rule of offline packing."""

    def validate(self, config: TrainingConfig) -> Validation:
        found = verdict(item for item in check(config) if item.rule.id != "in-batch-micro-batch")
        if config.dataset_kind is DatasetKind.FINETUNING and config.micro_batch_size > 1:
            return Validation(accepted=False, errors=(*found.errors, "micro batch size must be 1"))
        return found

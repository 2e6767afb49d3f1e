"""Museum: S31-providers."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.config import TrainingConfig, Validation
from reference_impl.reference import ReferenceImplementation
from reference_impl.rules import check, verdict


@bug(
    "S31-providers",
    area="config validation",
    suffered="vision-language fine-tuning on several CP ranks ran with NaN losses and unequal lengths",
    source="Megatron-Bridge up to 0.5.1: rules name FinetuningDatasetConfig only (specification section 5)",
)
class ProvidersUnchecked(ReferenceImplementation):
    """The rules for fine-tuning do not reach datasets that pack in batch."""

    def validate(self, config: TrainingConfig) -> Validation:
        unchecked = {"cp-per-token-loss", "cp-average-in-collective", "lengths-agree"}
        return verdict(
            item for item in check(config) if not (config.pack_sequences_in_batch and item.rule.id in unchecked)
        )

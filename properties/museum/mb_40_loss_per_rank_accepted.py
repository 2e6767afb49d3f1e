"""Museum: MB-40."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.config import TrainingConfig, Validation
from reference_impl.reference import ReferenceImplementation
from reference_impl.rules import check, verdict


@bug(
    "MB-40",
    area="config validation / per-token loss",
    suffered="the loss was NaN on CP ranks whose part of a sequence held no trainable token",
    source="Megatron-Bridge #374; NeMo #14065",
)
class LossPerRankAccepted(ReferenceImplementation):
    """Fine-tuning on several CP ranks is accepted with a mean loss per rank, and with any sequence length."""

    def validate(self, config: TrainingConfig) -> Validation:
        unchecked = {"cp-per-token-loss", "cp-average-in-collective", "cp-model-length"}
        return verdict(item for item in check(config) if item.rule.id not in unchecked)

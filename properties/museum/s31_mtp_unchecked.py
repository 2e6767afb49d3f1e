"""Museum: S31-mtp."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.config import TrainingConfig, Validation
from reference_impl.reference import ReferenceImplementation
from reference_impl.rules import check, verdict


@bug(
    "S31-mtp",
    area="config validation / MTP",
    suffered="MTP trained on tokens of other documents, although the documentation excludes it",
    source="Megatron-Bridge 0.5.1 validates neither (specification S31); multi-token-prediction.md; #6103",
)
class MtpUnchecked(ReferenceImplementation):
    """Multi-token prediction is accepted with packed fine-tuning."""

    def validate(self, config: TrainingConfig) -> Validation:
        return verdict(item for item in check(config) if item.rule.id != "mtp-finetuning")

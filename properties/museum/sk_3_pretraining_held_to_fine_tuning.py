"""Museum: SK-3."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.config import DatasetKind, TrainingConfig, Validation
from reference_impl.reference import ReferenceImplementation
from reference_impl.rules import check, verdict


@bug(
    "SK-3",
    area="config validation / per-token loss",
    suffered="pretraining with long sequences on several CP ranks was refused",
    source="Megatron-Bridge skill perf-sequence-packing, pitfall 3, taken too far",
)
class PretrainingHeldToFineTuning(ReferenceImplementation):
    """The loss settings of fine-tuning on CP ranks are demanded of pretraining too."""

    def validate(self, config: TrainingConfig) -> Validation:
        return verdict(check(replace(config, dataset_kind=DatasetKind.FINETUNING)))

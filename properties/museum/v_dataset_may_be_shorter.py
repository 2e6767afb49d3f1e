"""Museum: V-lengths."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.config import TrainingConfig, Validation
from reference_impl.reference import ReferenceImplementation
from reference_impl.rules import check, verdict


@bug(
    "V-lengths",
    area="config validation",
    suffered="a model for long sequences was trained on short ones without anybody noticing",
    source="no release: the comparison as it is easily written",
)
class DatasetMayBeShorter(ReferenceImplementation):
    """The dataset's sequence length must only not exceed the model's."""

    def validate(self, config: TrainingConfig) -> Validation:
        fits = config.dataset_seq_length <= config.model_seq_length
        return verdict(item for item in check(config) if not (fits and item.rule.id == "lengths-agree"))

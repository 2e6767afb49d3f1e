"""Museum: S29-both-modes."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.config import TrainingConfig, Validation
from reference_impl.reference import ReferenceImplementation
from reference_impl.rules import check, verdict


@bug(
    "S29-both-modes",
    area="config validation",
    suffered="both modes of packing could be on at once, for which no micro batch size is right",
    source="Megatron-Bridge up to 0.5.1 has no rule (specification section 5)",
)
class BothModes(ReferenceImplementation):
    """Offline and in-batch packing are accepted together."""

    def validate(self, config: TrainingConfig) -> Validation:
        return verdict(item for item in check(config) if item.rule.id != "one-packing-mode")

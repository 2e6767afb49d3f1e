"""Museum: S31-pack-size."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.config import TrainingConfig, Validation
from reference_impl.reference import ReferenceImplementation
from reference_impl.rules import check, verdict


@bug(
    "S31-pack-size",
    area="config validation",
    suffered="the tail of full packs was trained on by two CP ranks or by none",
    source="Megatron-Bridge, every release (specification section 5)",
)
class PackSizeUnchecked(ReferenceImplementation):
    """The pack size is compared with nothing."""

    def validate(self, config: TrainingConfig) -> Validation:
        unchecked = {"cp-pack-length", "sp-pack-length"}
        return verdict(item for item in check(config) if item.rule.id not in unchecked)

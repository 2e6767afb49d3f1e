"""Museum: S6-refused."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.config import TrainingConfig, Validation
from reference_impl.reference import ReferenceImplementation
from reference_impl.rules import check


@bug(
    "S6-refused",
    area="config validation",
    suffered="a run with long sequences and short packs, whose documents all fit, was refused",
    source="Megatron-Bridge 0.6.0 PackedSequenceSpecs, the opposite mistake of S6",
)
class HazardRefused(ReferenceImplementation):
    """Packs shorter than the longest possible document are refused instead of reported."""

    def validate(self, config: TrainingConfig) -> Validation:
        found = check(config)
        return Validation(accepted=not found, errors=tuple(item.message for item in found))

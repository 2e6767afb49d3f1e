"""Museum: SK-5."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.config import ModelFamily, TrainingConfig, Validation
from reference_impl.reference import ReferenceImplementation
from reference_impl.rules import check, pack_size, verdict


@bug(
    "SK-5",
    area="config validation / model opt-out",
    suffered="families were refused a mode of packing that they support",
    source="Megatron-Bridge skill perf-sequence-packing, pitfall 5, taken too far",
)
class OptOutOfEverything(ReferenceImplementation):
    """A family that opts out of one mode of packing is refused the other too."""

    def validate(self, config: TrainingConfig) -> Validation:
        found = verdict(check(config))
        if config.model_family is not ModelFamily.OTHER and (pack_size(config) > 0 or config.pack_sequences_in_batch):
            return Validation(accepted=False, errors=(*found.errors, f"{config.model_family} does not pack"))
        return found

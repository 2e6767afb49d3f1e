"""Museum: S29."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.config import TrainingConfig, Validation
from reference_impl.reference import ReferenceImplementation
from reference_impl.rules import check, verdict


@bug(
    "S29",
    area="config validation",
    suffered="packing was silently off, and with in-batch packing on, the step found no boundaries",
    source="Megatron-Bridge 0.5.1, packed_sequence_size of 0 or less (specification S29)",
)
class SizeZeroSwitchesOff(ReferenceImplementation):
    """A pack size below 1 switches offline packing off without a word."""

    def validate(self, config: TrainingConfig) -> Validation:
        off = config.offline_size is not None and config.offline_size < 1
        return verdict(check(replace(config, offline_size=None) if off else config))

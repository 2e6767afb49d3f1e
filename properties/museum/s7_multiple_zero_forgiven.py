"""Museum: S7-zero."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.config import TrainingConfig, Validation
from reference_impl.reference import ReferenceImplementation
from reference_impl.rules import check, verdict


@bug(
    "S7-zero",
    area="config validation",
    suffered="documents that had to be padded were not, because 0 was read as no multiple given",
    source="Megatron-Bridge tokenize_dataset, max(1, multiple or 1) (specification 2.8)",
)
class MultipleZeroForgiven(ReferenceImplementation):
    """A document multiple below 1 is read as 1."""

    def validate(self, config: TrainingConfig) -> Validation:
        forgiven = max(1, config.pad_seq_to_mult or 1)
        return verdict(check(replace(config, pad_seq_to_mult=forgiven)))

"""Museum: S31-sequence-parallel."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.config import TrainingConfig, Validation
from reference_impl.reference import ReferenceImplementation
from reference_impl.rules import check, verdict


@bug(
    "S31-sequence-parallel",
    area="config validation / padding",
    suffered="the length of a CP rank's part was not divisible by the TP size",
    source="Megatron-Bridge #2932, the same mistake in the in-batch step",
)
class SequenceParallelForgotten(ReferenceImplementation):
    """The document multiple is checked against 2 * CP, whether or not sequences are shared by TP ranks."""

    def validate(self, config: TrainingConfig) -> Validation:
        return verdict(item for item in check(config) if item.rule.id != "sp-document-multiple")

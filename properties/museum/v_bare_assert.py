"""Museum: V-bare-assert."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.config import TrainingConfig, Validation
from reference_impl.reference import ReferenceImplementation
from reference_impl.rules import check, verdict


@bug(
    "V-bare-assert",
    area="config validation",
    suffered="a run ended in an AssertionError without a word on which setting to change",
    source="no release in validation; Megatron-Bridge collate_fn asserts like this (specification 2.14)",
)
class BareAssert(ReferenceImplementation):
    """What breaks a rule is refused without saying why."""

    def validate(self, config: TrainingConfig) -> Validation:
        found = verdict(check(config))
        return Validation(found.accepted, tuple("" for _ in found.errors))

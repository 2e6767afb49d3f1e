"""Museum: S47."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.config import TrainingConfig, Validation
from reference_impl.reference import ReferenceImplementation
from reference_impl.rules import check, pack_size, verdict


@bug(
    "S47",
    area="config validation / padding",
    suffered="documents had to be padded further than necessary, or a right configuration was refused",
    source="Megatron-Bridge skill packed-sequences-long-context (specification S47)",
)
class DivisorTooLarge(ReferenceImplementation):
    """The divisor is taken to be 2 * CP * TP instead of lcm(2 * CP, CP * TP)."""

    def validate(self, config: TrainingConfig) -> Validation:
        found = verdict(check(config))
        divisor = 2 * config.context_parallel_size * config.tensor_parallel_size
        shares = config.sequence_parallel and config.context_parallel_size > 1 and pack_size(config) > 0
        if shares and (config.pad_seq_to_mult or 1) % divisor:
            return Validation(accepted=False, errors=(*found.errors, f"pad_seq_to_mult must divide by {divisor}"))
        return found

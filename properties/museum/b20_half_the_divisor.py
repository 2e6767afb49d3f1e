"""Museum: B20-config."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.config import TrainingConfig, Validation
from reference_impl.reference import ReferenceImplementation
from reference_impl.rules import check, verdict


@bug(
    "B20-config",
    area="config validation / CP slicing",
    suffered="lengths passed that CP divides and 2 * CP does not: chunks overlapped or the index overflowed",
    source="Megatron-Core gated delta net (thd-and-context-parallel B20)",
)
class HalfTheDivisor(ReferenceImplementation):
    """Sequence lengths are checked for divisibility by CP, not by 2 * CP."""

    def validate(self, config: TrainingConfig) -> Validation:
        fits = config.model_seq_length % config.context_parallel_size == 0
        return verdict(item for item in check(config) if not (fits and item.rule.id == "cp-model-length"))

"""Museum: MB-39."""

from __future__ import annotations

from dataclasses import replace

from properties.museum.bug import bug
from reference_impl.config import TrainingConfig, Validation
from reference_impl.reference import ReferenceImplementation
from reference_impl.rules import check, pack_size, verdict


@bug(
    "MB-39",
    area="config validation / packing run",
    suffered="a micro batch of several packs was silently accepted, or the batch sizes silently rewritten",
    source="Megatron-Bridge #174; NeMo #10898",
)
class MicroBatchUnchecked(ReferenceImplementation):
    """The micro batch of a run with offline packs is not looked at."""

    def validate(self, config: TrainingConfig) -> Validation:
        packed = pack_size(config) > 0 and not config.pack_sequences_in_batch
        return verdict(check(replace(config, micro_batch_size=1) if packed else config))

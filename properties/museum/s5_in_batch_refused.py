"""Museum: S5."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.config import TrainingConfig, Validation
from reference_impl.reference import ReferenceImplementation
from reference_impl.rules import check, verdict


@bug(
    "S5",
    area="in-batch",
    suffered="vision-language recipes with in-batch packing, their default, stopped at the first batch",
    source="Megatron-Bridge 0.5.1, data/vlm_datasets (specification S5)",
)
class InBatchRefused(ReferenceImplementation):
    """In-batch packing is refused although the training step would have packed."""

    def validate(self, config: TrainingConfig) -> Validation:
        found = verdict(check(config))
        if config.pack_sequences_in_batch:
            return Validation(accepted=False, errors=(*found.errors, "this collate function does not support packing"))
        return found

"""Museum: S7-none."""

from __future__ import annotations

from typing import Any

from properties.museum.bug import bug
from reference_impl.config import TrainingConfig, Validation
from reference_impl.reference import ReferenceImplementation
from reference_impl.rules import check, pack_size, verdict


@bug(
    "S7-none",
    area="config validation",
    suffered="a document multiple of None, allowed by its type, ended in a TypeError",
    source="Megatron-Bridge tokenize_dataset up to 0.5.1, collate_fn up to 0.6.0 (specification S7)",
)
class MultipleNoneCrashes(ReferenceImplementation):
    """A missing document multiple is compared with a number."""

    def validate(self, config: TrainingConfig) -> Validation:
        multiple: Any = config.pad_seq_to_mult
        found = verdict(check(config))
        if pack_size(config) > 0 and multiple < 1:
            return Validation(accepted=False, errors=(*found.errors, "pad_seq_to_mult must be positive"))
        return found

"""Museum: S31-static-boundaries."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.config import TrainingConfig, Validation
from reference_impl.reference import ReferenceImplementation
from reference_impl.rules import check, verdict


@bug(
    "S31-static-boundaries",
    area="config validation / cuda graph padding",
    suffered="the run stopped when the dataset was opened, on every rank, after the model was built",
    source="Megatron-Bridge up to 0.5.1, asserts of GPTSFTPackedDataset only (specification section 5)",
)
class StaticBoundariesUnchecked(ReferenceImplementation):
    """Boundaries of constant length are accepted without constant width and without a metadata file."""

    def validate(self, config: TrainingConfig) -> Validation:
        unchecked = {"static-boundaries-width", "static-boundaries-metadata"}
        return verdict(item for item in check(config) if item.rule.id not in unchecked)

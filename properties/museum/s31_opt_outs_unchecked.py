"""Museum: S31-opt-outs."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.config import TrainingConfig, Validation
from reference_impl.reference import ReferenceImplementation
from reference_impl.rules import check, verdict


@bug(
    "S31-opt-outs",
    area="config validation / model opt-out",
    suffered="families whose recipes switch packing off could be trained with it",
    source="Megatron-Bridge, every release: opt-outs are in recipes only (specification section 5)",
)
class OptOutsUnchecked(ReferenceImplementation):
    """No code knows that Qwen3-Next, GLM-4.5 and Qwen3.5-VL do not support their mode of packing."""

    def validate(self, config: TrainingConfig) -> Validation:
        unchecked = {"qwen3-next-offline", "glm45-offline", "qwen35-vl-in-batch"}
        return verdict(item for item in check(config) if item.rule.id not in unchecked)

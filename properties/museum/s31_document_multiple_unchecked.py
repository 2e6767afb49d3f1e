"""Museum: S31-document-multiple."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.config import TrainingConfig, Validation
from reference_impl.reference import ReferenceImplementation
from reference_impl.rules import check, verdict


@bug(
    "S31-document-multiple",
    area="config validation / padding",
    suffered="slots at document borders were trained on by two CP ranks or by none",
    source="Megatron-Bridge, every release (specification section 5)",
)
class DocumentMultipleUnchecked(ReferenceImplementation):
    """Documents may be padded to any multiple on several CP ranks."""

    def validate(self, config: TrainingConfig) -> Validation:
        unchecked = {"cp-document-multiple", "sp-document-multiple"}
        return verdict(item for item in check(config) if item.rule.id not in unchecked)

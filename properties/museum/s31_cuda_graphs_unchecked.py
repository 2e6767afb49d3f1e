"""Museum: S31-cuda-graphs."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.config import TrainingConfig, Validation
from reference_impl.reference import ReferenceImplementation
from reference_impl.rules import check, verdict


@bug(
    "S31-cuda-graphs",
    area="config validation / cuda graph padding",
    suffered="a graph captured for one batch was replayed on packs of another shape",
    source="Megatron-Bridge up to 0.5.1 (specification section 5); rules added in 0.6.0",
)
class CudaGraphsUnchecked(ReferenceImplementation):
    """CUDA graphs are accepted with packs of any width and any number of boundaries."""

    def validate(self, config: TrainingConfig) -> Validation:
        unchecked = {"graph-width", "graph-boundaries"}
        return verdict(item for item in check(config) if item.rule.id not in unchecked)

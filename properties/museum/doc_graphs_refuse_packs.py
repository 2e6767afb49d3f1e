"""Museum: DOC-cuda-graphs."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.config import CudaGraph, TrainingConfig, Validation
from reference_impl.reference import ReferenceImplementation
from reference_impl.rules import check, pack_size, verdict


@bug(
    "DOC-cuda-graphs",
    area="config validation / cuda graph padding",
    suffered="offline packing had to be given up to use CUDA graphs",
    source="Megatron-Bridge 0.5.1 docs/training/cuda-graphs.md: packed metadata is not captured",
)
class GraphsRefusePacks(ReferenceImplementation):
    """CUDA graphs are refused with offline packing, whatever the padding."""

    def validate(self, config: TrainingConfig) -> Validation:
        found = verdict(check(config))
        if pack_size(config) > 0 and config.cuda_graph is not CudaGraph.NONE:
            return Validation(accepted=False, errors=(*found.errors, "CUDA graphs accept only tensors"))
        return found

"""Tiny models of Megatron-Core, GPT and hybrid: packed, packed in batch, and document by document.

Without TransformerEngine Core's own attention takes no packed parameters; documents are then kept apart by a
block-diagonal mask, which is what packed parameters stand for.
"""

from __future__ import annotations

import contextlib
import importlib
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from conformance import isolation
from gpu_tests.cases import Case
from gpu_tests.kernels import visible
from gpu_tests.parallel.cut import boundary_metadata
from gpu_tests.programs import hybrid, implementation_of
from gpu_tests.programs.texts import VOCABULARY, Source, alone, batches, texts_of
from gpu_tests.ranks.fabric import Fabric
from reference_impl.batches import BoundaryMetadata, Layout
from reference_impl.interface import Implementation

Layers = Literal["local", "te", "mamba restated", "hybrid"]
DTYPES = {
    "local": torch.float64, "te": torch.bfloat16, "mamba restated": torch.float64, "hybrid": torch.bfloat16,
}  # fmt: skip
"""Of the parameters: as exact as the kernels allow."""
POSITIONS = 128
"""Longest sequence of the model: more than a row of any source has slots."""
LAYERS = 2


def losses_and_gradients(fabric: Fabric, target: str, case: Case, source: Source, layers: Layers) -> dict[str, Any]:
    """Train on one batch, packed as ``source`` says and alone.

    Returns:
        ``packed`` and ``alone``, each with ``loss``, the sum over the tokens that count, and gradients by name.
    """
    with imported(), hybrid.kernels(layers):
        model = _model(fabric, case, layers)
        implementation = implementation_of(target)
        return {
            "packed": _packed(model, implementation, case, source, fabric.device, layers),
            "alone": _alone(model, case, source, fabric.device, layers),
        }


def packed_parameters_in_local_attention(fabric: Fabric, case: Case) -> str:
    """What Core's own attention says to packed parameters: the message of its refusal, "" if there is none."""
    with imported():
        model = _model(fabric, case, "local")
        tokens = torch.zeros(1, int(case.layout.padded[-1]), dtype=torch.int64, device=fabric.device)
        params = parameters(boundary_metadata(case.layout), implementation_of("reference"), fabric.device)
        try:
            model(tokens, torch.arange(tokens.shape[1])[None].to(fabric.device), None, packed_seq_params=params)
        except AssertionError as error:
            return str(error)
    return ""


@contextlib.contextmanager
def imported() -> Any:
    """Core, and nothing of what it warns about on this machine."""
    isolation.activate()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class _Buffer:
    """Core's scratch memory, which it allocates on a CUDA device only, on the CPU."""

    def get_tensor(self, shape: Sequence[int], dtype: torch.dtype, name: str, *_: object) -> Tensor:
        """A tensor of any content; Core's shares memory between the users of a name, which nothing may rely on."""
        del name
        return torch.empty(tuple(shape), dtype=dtype)


def core(module: str) -> Any:
    """A module of Core."""
    return importlib.import_module(f"megatron.core.{module}")


def _model(fabric: Fabric, case: Case, layers: Layers) -> Any:
    state = core("parallel_state")
    if not state.model_parallel_is_initialized():
        state.initialize_model_parallel()
    specs = core("models.gpt.gpt_layer_specs")
    on_cpu = fabric.device.type == "cpu"
    if on_cpu:
        state._GLOBAL_MEMORY_BUFFER = _Buffer()  # noqa: SLF001 - Core has no other way to say where
        # The tracker that keeps no random state of a CUDA device; there is no dropout, so nothing random is drawn.
        core("tensor_parallel.random").initialize_rng_tracker(inference_rng_tracker=True)
    else:
        core("tensor_parallel").model_parallel_cuda_manual_seed(case.seed)
    dtype = DTYPES[layers]
    config = core("transformer.transformer_config").TransformerConfig(
        num_layers=LAYERS,
        hidden_size=case.heads * case.head_size,
        num_attention_heads=case.heads,
        attention_dropout=0.0,
        hidden_dropout=0.0,
        use_cpu_initialization=on_cpu,
        params_dtype=dtype,
        pipeline_dtype=dtype,
        bf16=dtype is torch.bfloat16,
        masked_softmax_fusion=False,
        bias_activation_fusion=False,
        bias_dropout_fusion=False,
        gradient_accumulation_fusion=False,
        perform_initialization=True,
        **(hybrid.SIZES if layers in hybrid.PATTERN else {}),
    )
    torch.manual_seed(case.seed)
    if layers in {"mamba restated", "hybrid"}:
        model = hybrid.build(config, layers, VOCABULARY, POSITIONS, fabric.device)
        return model.to(device=fabric.device, dtype=dtype)
    local = specs.get_gpt_layer_local_spec
    spec = local() if layers == "local" else specs.get_gpt_layer_with_transformer_engine_spec()
    model = core("models.gpt.gpt_model").GPTModel(
        config=config,
        transformer_layer_spec=spec,
        vocab_size=VOCABULARY,
        max_sequence_length=POSITIONS,
        position_embedding_type="learned_absolute",
        share_embeddings_and_output_weights=False,
    )
    return model.to(device=fabric.device, dtype=dtype)


def _packed(
    model: Any, implementation: Implementation, case: Case, source: Source, device: torch.device, layers: Layers
) -> dict[str, Any]:
    total = torch.zeros((), dtype=torch.float64, device=device)
    for batch in batches(implementation, texts_of(case), source, 1):
        assert batch.labels is not None
        assert batch.loss_mask is not None
        rows = (batch.tokens, batch.labels, batch.loss_mask, batch.position_ids)
        metadata = boundary_metadata(batch.layout)
        total = total + _loss(model, rows, batch.layout, metadata, implementation, device, layers)
    return _with_gradients(model, total)


def _alone(model: Any, case: Case, source: Source, device: torch.device, layers: Layers) -> dict[str, Any]:
    total = torch.zeros((), dtype=torch.float64, device=device)
    for text in texts_of(case):
        rows = alone(text, source)
        ends = np.array([0, len(rows[0])], dtype=np.int64)
        layout = Layout(ends, ends)
        implementation = implementation_of("reference")
        total = total + _loss(model, rows, layout, boundary_metadata(layout), implementation, device, layers)
    return _with_gradients(model, total)


def _loss(
    model: Any,
    rows: tuple[Any, ...],
    layout: Layout,
    metadata: BoundaryMetadata,
    implementation: Implementation,
    device: torch.device,
    layers: Layers,
) -> Tensor:
    tokens, labels, weights, positions = (torch.from_numpy(np.array(row))[None].to(device) for row in rows)
    if layers != "local":
        if layers in hybrid.PATTERN:
            metadata = replace(metadata, total_tokens=int(layout.padded[-1]))
        how = {"attention_mask": None, "packed_seq_params": parameters(metadata, implementation, device)}
    else:
        how = {"attention_mask": ~visible(layout, causal=True)[None, None].to(device)}
    losses = model(tokens, positions, labels=labels.clamp(min=0), **how)
    return (losses.double() * weights).sum()


def parameters(metadata: BoundaryMetadata, implementation: Implementation, device: torch.device) -> Any:
    """Core's ``PackedSeqParams`` with what an implementation makes of a batch's boundaries."""
    params = implementation.sequence_params(metadata)
    fields = {
        name: value if not isinstance(value, np.ndarray) else torch.from_numpy(value).to(device)
        for name, value in vars(params).items()
    }
    if fields["seq_idx"] is not None:
        fields["seq_idx"] = fields["seq_idx"][None]  # Core's kernels want a batch dimension
    return core("packed_seq_params").PackedSeqParams(**fields)


def _with_gradients(model: Any, loss: Tensor) -> dict[str, Any]:
    model.zero_grad()
    loss.backward()
    gradients = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    return {"loss": loss.detach(), "gradients": gradients}

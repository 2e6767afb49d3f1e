"""A tiny hybrid model of Megatron-Core: Mamba layers, with attention between them where TransformerEngine is."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch

from gpu_tests import mamba_emulation

SIZES = {"mamba_state_dim": 4, "mamba_head_dim": 8, "mamba_num_groups": 2, "mamba_num_heads": 4}
PATTERN = {"mamba restated": "MM", "hybrid": "M*"}
"""Mamba layers (M) alone on a restated kernel, or Mamba and attention layers (*) on the real ones: without
TransformerEngine, Core's attention takes no packed parameters."""


def build(config: Any, layers: str, vocabulary: int, positions: int, device: torch.device) -> Any:
    """The model with the layers of a ``PATTERN``."""
    hybrid = _core("models.hybrid.hybrid_model").HybridModel
    arguments: dict[str, Any] = {
        "config": config,
        "vocab_size": vocabulary,
        "max_sequence_length": positions,
        "hybrid_layer_pattern": PATTERN[layers],
        "share_embeddings_and_output_weights": False,
    }
    if layers == "hybrid":
        return hybrid(hybrid_stack_spec=_core("models.hybrid.hybrid_layer_specs").hybrid_stack_spec, **arguments)
    with mock.patch.object(torch.cuda, "current_device", return_value=device):  # where Core puts parameters of a mixer
        return hybrid(hybrid_stack_spec=_restated_stack(), **arguments)


@contextlib.contextmanager
def kernels(layers: str) -> Iterator[None]:
    """The kernel restated in the place of the one that is missing; nothing for other layers."""
    if layers != "mamba restated":
        yield
        return
    mixer, block = _core("ssm.mamba_mixer"), _core("models.hybrid.hybrid_block")
    with (
        mock.patch.object(mixer, "HAVE_MAMBA_SSM", True),
        mock.patch.object(mixer, "mamba_split_conv1d_scan_combined", mamba_emulation.mamba_split_conv1d_scan_combined),
        mock.patch.object(mixer, "_check_mamba_sequence_packing_support", return_value=(True, None)),
        mock.patch.object(block, "TENorm", _core("transformer.torch_norm").WrappedTorchNorm),
    ):
        yield


def _restated_stack() -> Any:
    """Mamba layers of Core's own parts; without the gated norm, which is a kernel, too."""
    spec = _core("transformer.spec_utils").ModuleSpec
    layer, mixer = _core("ssm.mamba_layer"), _core("ssm.mamba_mixer")
    block, linear = _core("models.hybrid.hybrid_block"), _core("tensor_parallel")
    mixing = spec(
        module=mixer.MambaMixer,
        params={"rmsnorm": False},
        submodules=mixer.MambaMixerSubmodules(in_proj=linear.ColumnParallelLinear, out_proj=linear.RowParallelLinear),
    )
    mamba = spec(
        module=layer.MambaLayer,
        submodules=layer.MambaLayerSubmodules(
            norm=_core("transformer.torch_norm").WrappedTorchNorm,
            mixer=mixing,
            mamba_bda=_core("fusions.fused_bias_dropout").get_bias_dropout_add,
        ),
    )
    return spec(module=block.HybridStack, submodules=block.HybridStackSubmodules(mamba_layer=mamba))


def _core(module: str) -> Any:
    return importlib.import_module(f"megatron.core.{module}")

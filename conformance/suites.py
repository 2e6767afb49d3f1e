"""The suites of ``gpu_tests`` and what each needs; the only place that says so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from conformance.machine import Needs


@dataclass(frozen=True)
class Suite:
    """One suite.

    Attributes:
        name: its key, as in the tests' ``suite`` marker.
        shows: what it shows, in words.
        needs: without which it is skipped.
        file: where its tests are.
    """

    name: str
    shows: str
    needs: Needs
    file: str


_TORCH = ("torch",)
_CORE = ("torch", "megatron.core")
_TE = ("torch", "transformer_engine", "transformer_engine_torch")

_ALL = (
    Suite("levels", "the three levels of equality tell right from wrong", Needs(packages=_TORCH),
          "test_levels.py"),
    Suite("worker-pool", "a failing or hanging rank is reported and replaced", Needs(packages=_TORCH, ranks=2),
          "test_worker_pool.py"),
    Suite("ranks", "slicing and attention over CP and TP ranks equal one rank", Needs(packages=_TORCH, ranks=2),
          "test_attention_on_ranks.py"),
    Suite("training-step", "loss and gradients under CP equal those of unpacked documents",
          Needs(packages=_TORCH, ranks=2), "test_training_on_ranks.py"),
    Suite("ranks-nccl", "the same over NCCL", Needs(devices=2, packages=_TORCH), "test_attention_on_ranks.py"),
    Suite("ranks-8", "the same on 8 ranks", Needs(packages=_TORCH, ranks=8), "test_attention_on_ranks.py"),
    Suite("torch-kernels", "PyTorch attention kernels against the oracle", Needs(packages=_TORCH),
          "test_torch_kernels.py"),
    Suite("torch-kernels-cuda", "the same on CUDA", Needs(devices=1, packages=_TORCH), "test_torch_kernels.py"),
    Suite("offsets", "offsets beyond 32 bits", Needs(devices=1, gib=40.0, packages=_TORCH), "test_torch_kernels.py"),
    Suite("te-kernels", "TransformerEngine's THD kernels against the reference", Needs(devices=1, packages=_TE),
          "test_transformer_engine.py"),
    Suite("te-attention", "TransformerEngine's attention backends on packed streams", Needs(devices=1, packages=_TE),
          "test_transformer_engine_attention.py"),
    Suite("te-ranks", "TransformerEngine's context-parallel attention", Needs(devices=2, packages=_TE),
          "test_transformer_engine_attention.py"),
    Suite("core-model", "a tiny Core GPT model: packed equals unpacked", Needs(packages=_CORE),
          "test_core_model.py"),
    Suite("core-kernels", "Core's rotary embedding and MTP shift on CP ranks", Needs(packages=_CORE, ranks=2),
          "test_core_kernels.py"),
    Suite("core-te-model", "the same with TransformerEngine layers", Needs(devices=1, packages=(*_CORE, *_TE[1:])),
          "test_core_model.py"),
    Suite("core-hybrid-model", "the same with Mamba layers between them",
          Needs(devices=1, packages=(*_CORE, *_TE[1:], "mamba_ssm", "causal_conv1d")), "test_core_model.py"),
    Suite("bridge-step", "get_batch of the GPT and VLM steps on a device",
          Needs(devices=1, packages=(*_CORE, "megatron.bridge")), "test_bridge_step.py"),
    Suite("upstream", "the tests of a Bridge checkout pass with real CUDA",
          Needs(devices=1, packages=(*_CORE, *_TE[1:])), "test_upstream_on_cuda.py"),
    Suite("static-shapes", "with static boundaries all metadata keep one shape", Needs(), "test_static_shapes.py"),
    Suite("cuda-graphs", "capture once, replay equals eager", Needs(devices=1, packages=_TORCH),
          "test_static_shapes.py"),
    Suite("silent-costs", "padded arrays only where something is padded", Needs(packages=_TORCH),
          "test_silent_costs.py"),
    Suite("no-sync", "building packed parameters does not wait for the device",
          Needs(devices=1, packages=("torch", "megatron.bridge")), "test_silent_costs.py"),
    Suite("museum", "re-created bugs break these suites", Needs(packages=_TORCH, ranks=4),
          "test_museum_on_ranks.py"),
    Suite("records", "recorded batches and outputs still hold", Needs(packages=("torch", "safetensors")),
          "test_records.py"),
)  # fmt: skip

SUITES: Mapping[str, Suite] = {suite.name: suite for suite in _ALL}
"""Every suite by name, in order."""

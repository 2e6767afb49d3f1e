"""TransformerEngine's attention on a packed stream, on one device or over CP ranks."""

from __future__ import annotations

import importlib
import os
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from gpu_tests.cases import Case
from gpu_tests.oracle import Streams, streams_of
from gpu_tests.ranks.fabric import Fabric
from reference_impl.reference import ReferenceImplementation

TeBackend = Literal["flash", "fused", "unfused"]
SWITCHES: dict[TeBackend, str] = {
    "flash": "NVTE_FLASH_ATTN",
    "fused": "NVTE_FUSED_ATTN",
    "unfused": "NVTE_UNFUSED_ATTN",
}
"""Environment variables that allow each backend."""
NO_BACKEND = "No dot product attention"
"""How TransformerEngine's complaint begins when no allowed backend takes the input."""


class NoBackend(Exception):
    """The backend that was asked for does not take this input on this device."""


def attend(case: Case, backend: TeBackend, *, pad_between_seqs: bool | None = None) -> dict[str, Tensor]:
    """Output and gradients of one device for the whole stream, (T, H, D) each, on the CPU.

    Raises:
        NoBackend: TransformerEngine has no such backend for it.
    """
    return _run(_module(case, backend), case, streams_of(case), pad_between_seqs)


def attend_on_ranks(fabric: Fabric, case: Case, backend: TeBackend, exchange: str) -> dict[str, Tensor] | str:
    """The same over the CP ranks, at the slots of this one.

    Args:
        fabric: the ranks.
        case: the stream.
        backend: of the attention on each rank.
        exchange: ``p2p``, ``all_gather`` or ``a2a``.

    Returns:
        ``slots`` and what ``attend`` returns, or why there is no backend.
    """
    group = fabric.context
    own = torch.from_numpy(ReferenceImplementation().partition(case.layout, group.size, group.rank))
    whole = streams_of(case)
    local = Streams(*(x[own] for x in (whole.q, whole.k, whole.v, whole.d_out)))
    module = _module(case, backend)
    module.set_context_parallel_group(group.handle, list(group.ranks), torch.cuda.Stream(), exchange)
    try:
        return {"slots": own, **_run(module, case, local, case.lengths != case.slots)}
    except NoBackend as error:
        return str(error)


def _module(case: Case, backend: TeBackend) -> Any:
    for name, switch in SWITCHES.items():
        os.environ[switch] = str(int(name == backend))
    os.environ["NVTE_ALLOW_NONDETERMINISTIC_ALGO"] = "0"
    package = "transformer_engine.pytorch.attention.dot_product_attention"
    # The choice is kept between calls; it has to be made anew for the backends that are allowed now.
    chosen: Any = importlib.import_module(f"{package}.dot_product_attention")._attention_backends  # noqa: SLF001
    chosen["backend_selection_requires_update"] = True
    kind: Any = importlib.import_module("transformer_engine.pytorch").DotProductAttention
    return kind(
        case.heads,
        case.head_size,
        attention_dropout=0.0,
        qkv_format="thd",
        attn_mask_type="padding_causal" if case.causal else "padding",
    )


def _run(module: Any, case: Case, streams: Streams, pad_between_seqs: bool | None) -> dict[str, Tensor]:
    q, k, v = (x.cuda().requires_grad_() for x in (streams.q, streams.k, streams.v))
    valid, slots = (
        torch.from_numpy(boundaries.astype(np.int32)).cuda() for boundaries in (case.layout.valid, case.layout.padded)
    )
    longest = int(np.diff(case.layout.padded).max())
    try:
        out = module(
            q, k, v, cu_seqlens_q=valid, cu_seqlens_kv=valid, cu_seqlens_q_padded=slots, cu_seqlens_kv_padded=slots,
            max_seqlen_q=longest, max_seqlen_kv=longest, pad_between_seqs=pad_between_seqs,
        ).reshape(q.shape)  # fmt: skip
    except ValueError as error:
        if str(error).startswith(NO_BACKEND):
            raise NoBackend(str(error)) from error
        raise
    gradients = torch.autograd.grad(out, (q, k, v), streams.d_out.cuda())
    results = {"out": out, **dict(zip(("d_q", "d_k", "d_v"), gradients, strict=True))}
    return {name: value.detach().cpu() for name, value in results.items()}

"""The kernel of Mamba-2 restated as its recurrence, so that the claim about a model with Mamba layers runs on a CPU.

It has the name, the arguments and the effect of the function in ``mamba_ssm.ops.triton.ssd_combined`` without a norm
of its own: a short causal convolution, then ``h[t] = exp(dt a) h[t - 1] + dt x[t] b[t]`` and
``y[t] = c[t] h[t] + d x[t]``, gated. Source: arXiv 2405.21060, sections 3 and 7; for the order of the parts,
``ssm/mamba_mixer.py`` of Megatron-Core.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


def mamba_split_conv1d_scan_combined(
    parts: Tensor,
    taps: Tensor,
    bias: Tensor,
    dt_bias: Tensor,
    a: Tensor,
    D: Tensor,  # noqa: N803 - the kernel's name
    *,
    headdim: int,
    ngroups: int,
    seq_idx: Tensor | None = None,
    **_: object,
) -> Tensor:
    """Convolve and scan inside every document.

    Args:
        parts: (1, T, 2 H P + 2 G N + H): gate, values, inputs and outputs of the state, steps.
        taps: (H P + 2 G N, K) of the convolution, the last one for the slot itself.
        bias: (H P + 2 G N,) of the convolution.
        dt_bias: (H,) of the steps.
        a: (H,) negative rates of decay.
        D: (H,) how much of its value a slot keeps.
        headdim: P.
        ngroups: G, heads of which share inputs and outputs of the state.
        seq_idx: (1, T) document of each slot; None for one document.

    Returns:
        (1, T, H P).
    """
    rows, heads = parts[0], len(dt_bias)
    inner = heads * headdim
    states = (rows.shape[1] - 2 * inner - heads) // 2
    gate, mixed, steps = rows.split([inner, inner + 2 * states, heads], dim=1)
    document = torch.zeros(len(rows), dtype=torch.int64, device=rows.device) if seq_idx is None else seq_idx[0].long()
    mixed = nn.functional.silu(_convolved(mixed, taps, document) + bias)
    values, to_state, from_state = mixed.split([inner, states, states], dim=1)
    x = values.unflatten(1, (heads, headdim))
    b, c = (
        part.unflatten(1, (ngroups, -1)).repeat_interleave(heads // ngroups, dim=1) for part in (to_state, from_state)
    )
    dt = nn.functional.softplus(steps + dt_bias)
    state = torch.zeros(heads, headdim, b.shape[2], dtype=rows.dtype, device=rows.device)
    outputs: list[Tensor] = []
    for t in range(len(rows)):
        kept = torch.exp(dt[t] * a) * float(t > 0 and document[t] == document[t - 1])
        state = kept[:, None, None] * state + (dt[t][:, None] * x[t])[:, :, None] * b[t][:, None, :]
        outputs.append((state * c[t][:, None, :]).sum(dim=2) + D[:, None] * x[t])
    return (torch.stack(outputs).flatten(1) * nn.functional.silu(gate))[None]


def _convolved(values: Tensor, taps: Tensor, document: Tensor) -> Tensor:
    """(T, C) sums over the slot and the ones before it, as far as they are of its document."""
    total = values * taps[:, -1]
    for back in range(1, min(taps.shape[1], len(values))):
        same = (document[back:] == document[:-back])[:, None]
        earlier = torch.where(same, values[:-back], 0.0) * taps[:, -1 - back]
        total = total + nn.functional.pad(earlier, (0, 0, back, 0))
    return total

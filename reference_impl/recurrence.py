"""Recurrent layers over a packed stream: their state must not flow from one document into the next.

Two documents of 3 and 2 slots; what reaches slot 3, the first of the second document:

    slot           0  1  2 | 3  4
    seq_idx        0  0  0 | 1  1
    state          h0 h1 h2| h3 h4     h3 = x3, not a3 h2 + x3
    convolution    y0 y1 y2| y3 y4     y3 = w0 x3, not w0 x3 + w1 x2 + w2 x1

The recurrence is the diagonal core of state-space layers (Mamba), the convolution is the short one in front of it, and
``seq_idx`` is the index by which their kernels tell documents apart. Tensors are torch; T slots, C channels, K taps.
"""

from __future__ import annotations

import torch
from torch import Tensor

from reference_impl.errors import PackingError


def recurrence(values_TC: Tensor, decays_TC: Tensor, seq_idx_T: Tensor) -> Tensor:
    """States ``h[t] = a[t] h[t - 1] + x[t]``, where ``h[t - 1]`` counts as 0 on the first slot of a document; (T, C).

    Args:
        values_TC: x.
        decays_TC: a, from 0 to 1.
        seq_idx_T: document of each slot, integers.

    Raises:
        PackingError: a tensor does not have one entry per slot.
    """
    _check(values_TC, decays_TC.shape, seq_idx_T)
    states: list[Tensor] = []
    for slot in range(values_TC.shape[0]):
        state = values_TC[slot]
        if slot and seq_idx_T[slot] == seq_idx_T[slot - 1]:
            state = state + decays_TC[slot] * states[-1]
        states.append(state)
    return torch.stack(states) if states else values_TC.clone()


def short_convolution(values_TC: Tensor, taps_KC: Tensor, seq_idx_T: Tensor) -> Tensor:
    """Convolution ``y[t] = sum_k w[k] x[t - k]`` over those slots that belong to the document of slot t; (T, C).

    Args:
        values_TC: x.
        taps_KC: w, the first one for the slot itself.
        seq_idx_T: document of each slot, integers.

    Raises:
        PackingError: a tensor does not have one entry per slot, taps have other channels, or there is no tap.
    """
    _check(values_TC, (values_TC.shape[0], *taps_KC.shape[1:]), seq_idx_T)
    if not taps_KC.shape[0]:
        raise PackingError("taps_KC", tuple(taps_KC.shape), "must have at least one tap")
    out_TC = taps_KC[0] * values_TC
    for back in range(1, min(taps_KC.shape[0], values_TC.shape[0])):
        earlier_TC = values_TC[: values_TC.shape[0] - back]
        same_document_T1 = (seq_idx_T[back:] == seq_idx_T[: seq_idx_T.shape[0] - back])[:, None]
        reached_TC = taps_KC[back] * torch.where(same_document_T1, earlier_TC, 0.0)
        out_TC = out_TC + torch.cat([torch.zeros_like(values_TC[:back]), reached_TC])
    return out_TC


def _check(values_TC: Tensor, other: tuple[int, ...], seq_idx_T: Tensor) -> None:
    """Raise unless all tensors fit the values."""
    if tuple(other) != tuple(values_TC.shape):
        raise PackingError("values_TC", tuple(values_TC.shape), f"must fit the other tensor, {tuple(other)}")
    if tuple(seq_idx_T.shape) != tuple(values_TC.shape[:1]):
        raise PackingError("seq_idx_T", tuple(seq_idx_T.shape), f"must have {values_TC.shape[0]} entries")

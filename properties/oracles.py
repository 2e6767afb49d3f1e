"""What layers give to one document alone, worked out in NumPy, forward and backward by hand.

Laws about numerics hold an implementation against these, document by document, whatever it computes them with.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from properties.segments import slots_per_segment, valid_per_segment
from reference_impl.batches import Layout
from reference_impl.ranks import AttentionInputs, AttentionResult, FloatArray, RecurrenceInputs, RecurrenceResult


def attention_of_documents(inputs: AttentionInputs, layout: Layout, causal: bool) -> AttentionResult:
    """Attention of each document alone; 0 at padding."""
    result = AttentionResult(
        np.zeros_like(inputs.grad_out), np.zeros_like(inputs.q), np.zeros_like(inputs.k), np.zeros_like(inputs.v)
    )
    group = inputs.q.shape[1] // inputs.k.shape[1]
    for own in documents(layout):
        for head in range(inputs.q.shape[1]):
            at, kept = (own, head), (own, head // group)
            out, grads = _one_head(inputs.q[at], inputs.k[kept], inputs.v[kept], inputs.grad_out[at], causal)
            result.out[at] = out
            result.grad_q[at] = grads[0]
            result.grad_k[kept] += grads[1]
            result.grad_v[kept] += grads[2]
    return result


def recurrence_of_documents(inputs: RecurrenceInputs, layout: Layout) -> RecurrenceResult:
    """The recurrence over each segment alone."""
    out, grad_values, grad_decays = (np.zeros_like(inputs.values) for _ in range(3))
    for own in segments(layout):
        slots = range(own.start, own.stop)
        for slot in slots:
            out[slot] = inputs.values[slot]
            if slot > own.start:
                out[slot] += inputs.decays[slot] * out[slot - 1]
        carried = np.zeros_like(inputs.values[0])
        for slot in reversed(slots):
            carried = carried + inputs.grad_out[slot]
            grad_values[slot] = carried
            grad_decays[slot] = carried * out[slot - 1] if slot > own.start else 0
            carried = carried * inputs.decays[slot]
    return RecurrenceResult(out, grad_values, grad_decays)


def convolution_of_documents(inputs: RecurrenceInputs, layout: Layout) -> RecurrenceResult:
    """The short convolution over each segment alone."""
    out, grad_values, grad_taps = (np.zeros_like(kept) for kept in (inputs.values, inputs.values, inputs.decays))
    for own in segments(layout):
        for slot in range(own.start, own.stop):
            for back, tap in enumerate(inputs.decays[: slot - own.start + 1]):
                out[slot] += tap * inputs.values[slot - back]
                grad_values[slot - back] += tap * inputs.grad_out[slot]
                grad_taps[back] += inputs.values[slot - back] * inputs.grad_out[slot]
    return RecurrenceResult(out, grad_values, grad_taps)


def documents(layout: Layout) -> Iterator[slice]:
    """Slots of the valid tokens of each segment."""
    for start, valid in zip(layout.padded[:-1].tolist(), valid_per_segment(layout).tolist(), strict=True):
        yield slice(start, start + valid)


def segments(layout: Layout) -> Iterator[slice]:
    """All slots of each segment."""
    for start, slots in zip(layout.padded[:-1].tolist(), slots_per_segment(layout).tolist(), strict=True):
        yield slice(start, start + slots)


def _one_head(
    q: FloatArray, k: FloatArray, v: FloatArray, grad_out: FloatArray, causal: bool
) -> tuple[FloatArray, tuple[FloatArray, FloatArray, FloatArray]]:
    """Attention of one head of one document: output (L, E), gradients of q (L, D), k (L, D) and v (L, E).

    With p the softmax, ``ds = p * (dp - sum(p * dp))``.
    """
    scale = q.shape[1] ** -0.5
    scores = q @ k.T * scale
    if causal:
        scores = np.where(np.tri(len(q), dtype=np.bool_), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True, initial=-np.inf)) if len(q) else scores
    weights /= weights.sum(axis=1, keepdims=True)
    grad_weights = grad_out @ v.T
    grad_scores = weights * (grad_weights - (weights * grad_weights).sum(axis=1, keepdims=True)) * scale
    return weights @ v, (grad_scores @ k, grad_scores.T @ q, weights.T @ grad_out)

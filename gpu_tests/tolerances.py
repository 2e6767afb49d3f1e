"""Every constant that decides whether two tensors are equal enough, each with its source."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tolerance:
    """A number and where it comes from.

    Attributes:
        value: the number.
        source: paper, measurement, standard or upstream test that gives it.
    """

    value: float
    source: str


NOISE_MULTIPLE = Tolerance(
    8.0,
    "Partial results over W ranks are merged in W - 1 roundings, each of the size of the floor at most, and gradients "
    "sum as many again: 2 * (W - 1) = 6 at W = 4, rounded up to a power of two. Measured on CPU over all cases of "
    "gpu_tests/cases.py: at most 5.9 floors in float64, 2.8 in float32 and 0.6 in bfloat16.",
)
"""How many noise floors a calibrated comparison allows."""

SMALLEST_FLOOR = Tolerance(
    1.0,
    "IEEE 754: one unit in the last place of the largest entry is what rounding the exact result costs; a floor that "
    "was measured lower was measured on lucky numbers.",
)
"""Least noise floor, in machine epsilons of the dtype times the largest entry."""

SIMILARITY = Tolerance(
    0.999,
    "Megatron-Core tests/unit_tests/transformer/test_thd_correctness.py: least cosine similarity of outputs and "
    "gradients between a THD and an SBHD run.",
)
"""Least cosine of two results that were computed in different orders by different kernels."""

SIMILAR_NORM = Tolerance(
    0.01,
    "TransformerEngine tests/pytorch/attention/run_attention_with_cp.py: root mean square error allowed between a "
    "context-parallel run and one on a single GPU. A cosine alone does not see a wrong scale.",
)
"""Largest relative difference of the norms of two similar results."""

FLOAT64_ROUNDINGS = Tolerance(
    256.0,
    "IEEE 754: a sum of n numbers is off by at most n - 1 roundings; a gradient of the training step sums over at "
    "most 128 slots of a stream, forward and backward.",
)
"""Noise floor of a training step in float64, in machine epsilons of the largest entry."""

DRIFT_MULTIPLE = Tolerance(
    4.0,
    "A convention, as of control charts: what is four times as far from the median of its history as that history is "
    "wide has another cause than the history. Measured on CPU: errors of unchanged kernels repeat to the bit.",
)
"""How many spreads of its history a figure may be away from the median."""

DRIFT_FLOOR = Tolerance(
    0.125,
    "The spread of a kernel that repeats to the bit is 0. An eighth of the noise floor times the multiple above is "
    "half a rounding, which any other order of summation may cost; a wrong intermediate precision costs several.",
)
"""Least spread of a history, in noise floors."""

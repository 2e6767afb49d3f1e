"""PyTorch's attention kernels on packed streams equal the oracle, on the CPU and on a CUDA device alike."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from _pytest.mark import ParameterSet
from torch import Tensor

from conformance.machine import here
from gpu_tests import oracle
from gpu_tests.cases import KERNELS as CASES
from gpu_tests.cases import Case, case_of
from gpu_tests.kernels import KERNELS, Kernel, run
from gpu_tests.levels import Level, assert_equal, noise_floor
from properties.segments import is_padding
from reference_impl.attention import Partial, attend, attention, merge

pytestmark = [pytest.mark.suite("torch-kernels"), pytest.mark.one_gpu]

OFFSET_SLOTS = 2**31 // (64 * 128) + 4096
"""Slots of a stream of 64 heads of 128, whose last element lies beyond 2^31."""


def _rows() -> Iterator[ParameterSet]:
    """Every case on every kernel that takes it; CUDA has its own row, so that what it lacks is said by name."""
    for name, kernel in KERNELS.items():
        for case in CASES:
            for device in kernel.devices:
                if kernel.takes(case):
                    marks = [pytest.mark.suite("torch-kernels-cuda")] if device == "cuda" else []
                    yield pytest.param(kernel, case, device, marks=marks, id=f"{name}-{case}-{device}")


@pytest.mark.parametrize(("kernel", "case", "device"), list(_rows()))
def test_a_kernel_equals_each_document_alone(kernel: Kernel, case: Case, device: str) -> None:
    """Output and gradients at tokens, at the level of the case; no gradient reaches padding."""
    got = run(kernel, case, device)
    exact, plain = oracle.exact(case), oracle.plain(case)
    padding = torch.from_numpy(is_padding(case.layout))
    for name, expected in exact.items():
        floor = noise_floor(plain[name], expected)
        assert_equal(name, got[name][~padding], expected[~padding], case.level, floor)
        if name != "out":
            assert not got[name][padding].any(), f"{name}: padding has a gradient"


@pytest.mark.parametrize("name", KERNELS)
def test_a_repeated_run_gives_the_same_bits(name: str) -> None:
    """Forward and backward; a kernel that is not deterministic cannot be compared bitwise with anything."""
    device = _device_of(KERNELS[name])
    case = case_of("one long among short", dtype="bfloat16", level=Level.BITWISE)
    first, second = (run(KERNELS[name], case, device) for _ in range(2))
    for result, values in first.items():
        assert_equal(result, second[result], values, Level.BITWISE)


@pytest.mark.parametrize("name", KERNELS)
def test_a_document_does_not_see_its_neighbours(name: str) -> None:
    """Exchanging the tokens of every other document leaves the rest to the bit."""
    kernel, case = KERNELS[name], case_of("padding between", dtype="bfloat16")
    device = _device_of(kernel)
    streams = oracle.streams_of(case)
    last = slice(int(case.layout.padded[-2]), int(case.layout.padded[-1]))
    before = _forward(kernel, streams, case, device)[last]
    for values in (streams.q, streams.k, streams.v):
        values[: last.start] = -values[: last.start]
    after = _forward(kernel, streams, case, device)[last]
    length = case.lengths[-1]
    assert_equal("output of the last document", after[:length], before[:length], Level.BITWISE)


@pytest.mark.parametrize("case", [case_of("one document", dtype=dtype) for dtype in ("float32", "float64")], ids=str)
def test_the_flash_kernels_log_sum_exp_merges_halves_of_the_keys(case: Case) -> None:
    """What a ring relies on: attention to two halves, merged by log-sum-exp, is attention to all keys."""
    streams = oracle.streams_of(case)
    half = len(streams.k) // 2
    parts = [_with_lse(streams.q, streams.k[keys], streams.v[keys]) for keys in (slice(half), slice(half, None))]
    merged = merge(*parts)
    exact = streams.to(torch.float64)
    expected, plain = (_reference(values) for values in (exact, streams))
    for name in ("out_HQE", "lse_HQ"):
        want = getattr(expected, name)
        assert_equal(name, getattr(merged, name), want, Level.CALIBRATED, noise_floor(getattr(plain, name), want))


@pytest.mark.suite("offsets")
def test_offsets_beyond_32_bits_reach_the_right_elements() -> None:
    """The last document of a stream of more than 2^31 elements equals the same document alone."""
    shape = (OFFSET_SLOTS, 64, 128)
    q, k, v = (torch.randn(shape, dtype=torch.bfloat16, device="cuda") for _ in range(3))
    length = 512
    case = Case("offsets", (OFFSET_SLOTS - length, length), (OFFSET_SLOTS - length, length))
    for name, kernel in KERNELS.items():
        if "cuda" not in kernel.devices or name in {"sdpa math", "sdpa under a mask", "flex"}:
            continue  # these hold all scores at once
        out = kernel.attend(q, k, v, case.layout, True)[-length:].cpu()
        last = Case("last", (length,), (length,)).layout
        expected = attention(q[-length:].cpu(), k[-length:].cpu(), v[-length:].cpu(), last)
        assert_equal(name, out, expected, Level.SIMILARITY)


def _with_lse(q: Tensor, k: Tensor, v: Tensor) -> Partial:
    """Attention and log-sum-exp of torch's own CPU kernel; only the operator itself gives the latter."""
    own = [x.transpose(0, 1).unsqueeze(0) for x in (q, k, v)]
    out, lse = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(*own, 0.0, False)  # noqa: SLF001
    return Partial(out.squeeze(0), lse.squeeze(0))


def _reference(streams: oracle.Streams) -> Partial:
    """The same of the reference, to all keys."""
    q, k, v = (x.transpose(0, 1) for x in (streams.q, streams.k, streams.v))
    return attend(q * q.shape[-1] ** -0.5, k, v, causal=False)


def _forward(kernel: Kernel, streams: oracle.Streams, case: Case, device: str) -> Tensor:
    q, k, v = (x.to(device) for x in (streams.q, streams.k, streams.v))
    return kernel.attend(q, k, v, case.layout, case.causal).cpu()


def _device_of(kernel: Kernel) -> str:
    """Where a kernel runs here: on a CUDA device if there is one."""
    if "cuda" in kernel.devices and here().devices:
        return "cuda"
    if "cpu" not in kernel.devices:
        pytest.skip("torch-kernels-cuda needs 1 CUDA device(s), here are 0")
    return "cpu"

"""How much faster the reference packs than Megatron Bridge, as ratios within one run; reported, never asserted.

CPU time is compared, because the machine may be busy. What is asserted is that the results are the same.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from conformance.targets.loading import load
from properties.readings import ambient_random, segments_in
from reference_impl import fast_offline
from reference_impl.bins import flat_first_fit
from reference_impl.documents import Algorithm, Document, IntArray, PackSpec
from reference_impl.first_fit import compiled
from reference_impl.reference import ReferenceImplementation

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

LENGTHS, DOCUMENTS, CAPACITY = 1_000_000, 20_000, 4096
WARM = np.ones(1, dtype=np.int64)


@pytest.fixture(scope="module")
def bridge() -> Any:
    """The installed release."""
    return load("megatron-bridge")


def log_normal(n: int, mean: float, sigma: float) -> IntArray:
    """Lengths (n,) as instruction data have them: many short, some as long as a pack."""
    drawn = np.exp(np.random.default_rng(0).normal(mean, sigma, size=n)).astype(np.int64)
    return np.clip(drawn + 1, 1, CAPACITY)


def cpu_seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU time of this process, all threads, and what came out."""
    started = time.process_time()
    result = work()
    return time.process_time() - started, result


def peak_bytes(work: Callable[[], Any]) -> int:
    """Most memory that Python and NumPy held at a time beside what there was before."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.benchmark(group="first fit")
def test_first_fit_of_a_million_lengths(benchmark: BenchmarkFixture, bridge: Any) -> None:
    """Identical bins; the ratio is in the benchmark's extra information."""
    lengths = log_normal(LENGTHS, 5.5, 1.0)
    place, group = compiled()
    group(WARM, place(WARM, CAPACITY, np.uint64(1)))
    flat = benchmark.pedantic(flat_first_fit, (lengths, CAPACITY), rounds=5, warmup_rounds=1)
    ours = min(cpu_seconds(lambda: flat_first_fit(lengths, CAPACITY))[0] for _ in range(5))
    theirs, bins = cpu_seconds(lambda: bridge.assign_bins(lengths, CAPACITY, Algorithm.FIRST_FIT, 0))
    assert flat.nested() == bins
    benchmark.extra_info["times faster than Megatron Bridge"] = theirs / ours


@pytest.mark.benchmark(group="offline path")
def test_offline_path_of_twenty_thousand_documents(benchmark: BenchmarkFixture, bridge: Any, tmp_path: Path) -> None:
    """The same documents in both files; the ratios of time and memory are in the extra information."""
    stream = np.random.default_rng(0)
    documents = [
        Document(stream.integers(1, 50_000, size=length + 1), answer_start=int(length) // 2)
        for length in log_normal(DOCUMENTS, 5.55, 0.8)
    ]
    spec = PackSpec(capacity=CAPACITY, seed=1)
    benchmark.pedantic(fast_offline.prepare, (documents, spec, tmp_path / "ours"), rounds=3, warmup_rounds=1)
    files = fast_offline.prepare(documents, spec, tmp_path / "ours")
    ours = min(cpu_seconds(lambda: fast_offline.prepare(documents, spec, tmp_path / "ours"))[0] for _ in range(3))
    with ambient_random(1):
        theirs, their_files = cpu_seconds(lambda: bridge.prepare(documents, spec, tmp_path / "theirs"))
    read = ReferenceImplementation().read_rows
    assert segments_in(read(files.rows)) == segments_in(read(their_files.rows))
    assert bridge.read_rows(files.rows)[0].tokens.tolist() == read(files.rows)[0].tokens.tolist()
    our_peak = peak_bytes(lambda: fast_offline.prepare(documents, spec, tmp_path / "ours"))
    their_peak = peak_bytes(lambda: bridge.prepare(documents[:2000], spec, tmp_path / "some"))
    benchmark.extra_info["times faster than Megatron Bridge"] = theirs / ours
    benchmark.extra_info["MB at most"] = our_peak / 1e6
    benchmark.extra_info["MB at most of Megatron Bridge on a tenth of the documents"] = their_peak / 1e6

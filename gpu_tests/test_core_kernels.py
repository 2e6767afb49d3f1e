"""Megatron-Core's functions for packed streams give, on real CP ranks, what the reference gives."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpu_tests.cases import Case, case_of
from gpu_tests.levels import Level, assert_equal, noise_floor
from gpu_tests.programs.core_kernels import rotary, shifted
from gpu_tests.ranks import Pool, under_torchrun

pytestmark = [
    pytest.mark.suite("core-kernels"),
    pytest.mark.skipif(under_torchrun(), reason="needs processes of its own, which Core patches"),
]

ROTATED = [case_of(name, context=2) for name in ("padding between", "many documents", "aligned")]
SHIFTED = [case_of(name, context=2) for name in ("one document", "nothing padded", "aligned")]
SHIFTED_PADDED = [case_of(name, context=2) for name in ("padding between", "odd tails")]


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    """Two ranks of our own: importing Core changes how torch reads and writes."""
    opened = Pool(2, limit=120.0)
    yield opened
    opened.close()


@pytest.mark.parametrize("mode", ["restart", "stream"])
@pytest.mark.parametrize("case", ROTATED, ids=str)
def test_core_rotates_every_slot_by_its_own_row(case: Case, mode: str, pool: Pool) -> None:
    """With a table for the longest segment, and with one for the whole stream."""
    for rank, result in enumerate(pool.run(rotary, case, mode, context=case.context)):
        floor = noise_floor(result["plain"], result["exact"])
        assert_equal(f"rotated on rank {rank}", result["got"], result["exact"], Level.CALIBRATED, floor)


@pytest.mark.parametrize("case", SHIFTED, ids=str)
def test_core_shifts_for_mtp_inside_every_document(case: Case, pool: Pool) -> None:
    """Across the chunks and ranks of a document, and never into the next document."""
    for rank, result in enumerate(pool.run(shifted, case, context=case.context)):
        assert_equal(f"shifted on rank {rank}", result["got"], result["expected"], Level.BITWISE)


@pytest.mark.xfail(strict=True, reason="Megatron-LM #4495 (ML-09): valid boundaries are used in a padded stream")
@pytest.mark.parametrize("case", SHIFTED_PADDED, ids=str)
def test_core_shifts_for_mtp_in_padded_streams(case: Case, pool: Pool) -> None:
    """A known deviation: MTP on padded packs trains on wrong labels, or crashes."""
    for rank, result in enumerate(pool.run(shifted, case, context=case.context)):
        assert_equal(f"shifted on rank {rank}", result["got"], result["expected"], Level.BITWISE)

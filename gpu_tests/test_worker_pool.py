"""The pool runs programs on several ranks; one that fails or hangs is reported rank by rank, and the pool goes on."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from gpu_tests.cases import STREAMS, case_of
from gpu_tests.programs import misbehaving
from gpu_tests.ranks import Pool, RankFailure, under_torchrun
from gpu_tests.ranks.jobs import Program
from reference_impl.errors import NotSupported

pytestmark = [
    pytest.mark.suite("worker-pool"),
    pytest.mark.skipif(under_torchrun(), reason="needs to start processes of its own; these are torchrun's"),
]

HANG_LIMIT = 2.0
"""Seconds before a case of these tests counts as hanging; it takes milliseconds otherwise."""


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    """Two ranks of our own, since these tests break them."""
    opened = Pool(2)
    yield opened
    opened.close()


def test_every_rank_runs_the_program_and_results_come_in_rank_order(pool: Pool) -> None:
    """Two ranks add 1 and 2."""
    assert pool.run(misbehaving.total_of_ranks, context=2) == [3.0, 3.0]
    assert pool.run(misbehaving.places, context=2) == [(0, 0, 0), (1, 1, 0)]
    assert pool.run(misbehaving.places, tensor=2) == [(0, 0, 0), (1, 0, 1)]


def test_a_program_may_leave_ranks_out(pool: Pool) -> None:
    """A case for one rank gives one result."""
    assert pool.run(misbehaving.total_of_ranks) == [1.0]


def test_one_process_serves_all_cases(pool: Pool) -> None:
    """Starting costs seconds, so it happens once."""
    pool.run(misbehaving.total_of_ranks, context=2)
    before = pool.starts
    for _ in range(5):
        pool.run(misbehaving.total_of_ranks, context=2)
    assert pool.starts == before


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (misbehaving.one_raises, ("rank 0: did not answer", "rank 0 was here", "rank 1: failed", "slots do not fit")),
        (misbehaving.one_hangs, ("rank 0: did not answer", "all_reduce", "rank 1: did not answer", "in one_hangs")),
        (misbehaving.one_dies, ("rank 1: died with exit code 7",)),
    ],
    ids=["raises", "hangs", "dies"],
)
def test_a_rank_that_goes_wrong_shows_the_last_lines_of_all_and_the_pool_recovers(
    pool: Pool, program: Program, words: tuple[str, ...]
) -> None:
    """The failure says what each rank did and where a hanging one is; the next case runs on new processes."""
    pool.run(misbehaving.total_of_ranks, context=2)
    before, usual, pool.limit = pool.starts, pool.limit, HANG_LIMIT
    with pytest.raises(RankFailure) as failure:
        pool.run(program, context=2)
    pool.limit = usual
    for word in words:
        assert word in str(failure.value)
    assert pool.run(misbehaving.total_of_ranks, context=2) == [3.0, 3.0]
    assert pool.starts == before + 1


def test_ranks_that_cannot_prepare_fail_together_and_stay(pool: Pool) -> None:
    """Nobody waits for a rank that failed before the first exchange, so nothing has to be started anew."""
    pool.run(misbehaving.total_of_ranks, context=2)
    before = pool.starts
    with pytest.raises(RankFailure, match="rank 1: ValueError: the slots do not fit"):
        pool.run(misbehaving.one_cannot_prepare, context=2)
    assert pool.run(misbehaving.total_of_ranks, context=2) == [3.0, 3.0]
    assert pool.starts == before


def test_an_operation_that_the_target_lacks_is_not_a_failure(pool: Pool) -> None:
    """It arrives as what it is, so that the test is skipped and not passed."""
    with pytest.raises(NotSupported, match="partition"):
        pool.run(misbehaving.lacks_an_operation, case_of(next(iter(STREAMS))).layout, context=2)


def test_a_closed_pool_leaves_no_process() -> None:
    """Nothing is left running after a session."""
    opened = Pool(1)
    process = opened.run(misbehaving.process, context=1)[0]
    opened.close()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)

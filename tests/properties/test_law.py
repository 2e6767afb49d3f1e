"""Laws themselves: what they find, whom they blame, and that they cannot pass on nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from properties import law as laws
from properties.claims import holds, same
from properties.law import Activity, Law, Verdict, catalogue
from properties.watch import Watched
from reference_impl.documents import Algorithm, Bins, IntArray
from reference_impl.errors import Inexpressible, NotSupported
from reference_impl.interface import Implementation, Op


class OneBinEach(Implementation):
    def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
        return tuple((int(length),) for length in lengths)


class LosesFives(OneBinEach):
    def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
        return tuple(kept for kept in super().assign_bins(lengths, capacity, algorithm, seed) if kept != (5,))


def make(test: Any, activity: Activity | None = None) -> Law:
    laws._catalogue.pop("TST-001", None)
    made = laws.law("TST-001", needs={Op.ASSIGN_BINS}, harm="none", sources=("test",), activity=activity)(test)
    laws._catalogue.pop("TST-001")
    return cast("Any", made).law


def lengths_kept(implementation: Implementation, lengths: list[int]) -> None:
    """Every length once."""
    array = np.array(lengths, dtype=np.int64)
    bins = implementation.assign_bins(array, 8, Algorithm.FIRST_FIT, 0)
    same(sorted(length for kept in bins for length in kept), sorted(lengths), "every length is in a bin")


KEPT = given(lengths=st.lists(st.integers(1, 8), max_size=6))


def test_a_law_passes_on_what_obeys_it() -> None:
    outcome = make(KEPT(lengths_kept)).run(OneBinEach())
    assert outcome.verdict is Verdict.PASSED
    assert outcome.examples == 100


def test_a_law_finds_the_smallest_counterexample() -> None:
    outcome = make(KEPT(lengths_kept)).run(LosesFives())
    assert outcome.verdict is Verdict.FAILED
    assert outcome.failure is not None
    assert outcome.failure.inputs == {"lengths": [5]}
    assert outcome.first_failure_at is not None
    assert "every length is in a bin" in outcome.message


def test_a_law_can_be_tried_on_inputs_that_are_given() -> None:
    """In their order, up to the first that fails, which is told as it is."""
    law = make(KEPT(lengths_kept))
    outcome = law.run(LosesFives(), inputs=[{"lengths": [1]}, {"lengths": [5, 2]}, {"lengths": [5]}])
    assert (outcome.verdict, outcome.examples, outcome.first_failure_at) == (Verdict.FAILED, 2, 2)
    assert outcome.failure is not None
    assert outcome.failure.inputs == {"lengths": [5, 2]}
    assert law.run(LosesFives(), inputs=law.draw(30)).verdict is Verdict.FAILED
    assert law.run(OneBinEach(), inputs=law.draw(30)).examples == 30


def test_equal_seeds_draw_equal_examples() -> None:
    law = make(KEPT(lengths_kept))
    assert law.run(LosesFives(), run_seed=3).first_failure_at == law.run(LosesFives(), run_seed=3).first_failure_at
    seen = {law.run(LosesFives(), run_seed=seed).first_failure_at for seed in range(8)}
    assert len(seen) > 1


@pytest.mark.slow
def test_a_seed_gives_the_same_examples_beside_any_modules(tmp_path: Path) -> None:
    """Hypothesis would draw some of the numbers that modules in the current folder are full of."""
    (tmp_path / "full_of_numbers.py").write_text("".join(f"x{number} = {number}\n" for number in range(1000, 1400)))
    law = "from properties.law import catalogue; law = catalogue()['BIN-001']; "
    code = f"{law}print([law.draw(100, run_seed=seed) for seed in range(8)])"
    alone, beside = (
        subprocess.run(
            [sys.executable, "-c", f"{modules}{code}"], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout
        for modules in ("", "import full_of_numbers; ")
    )
    assert alone == beside


def test_a_missing_operation_is_not_supported() -> None:
    assert make(KEPT(lengths_kept)).run(Implementation()).verdict is Verdict.NOT_SUPPORTED


@pytest.mark.parametrize("error", [NotSupported(Op.ASSIGN_BINS), Inexpressible("no")])
def test_an_operation_that_refuses_every_input_is_not_supported(error: NotSupported) -> None:
    class Refuses(OneBinEach):
        def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
            raise error

    assert make(KEPT(lengths_kept)).run(Refuses()).verdict is Verdict.NOT_SUPPORTED


def test_a_law_is_given_up_when_a_target_can_take_none_of_many_inputs() -> None:
    """Drawing on would cost ten times the examples asked for, and tell nothing more."""

    class Refuses(OneBinEach):
        calls = 0

        def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
            self.calls += 1
            raise Inexpressible("no")

    refuses = Refuses()
    outcome = make(KEPT(lengths_kept)).run(refuses)
    assert outcome.verdict is Verdict.NOT_SUPPORTED
    assert f"none of {laws.MOST_REFUSED} inputs" in outcome.message
    assert refuses.calls == laws.MOST_REFUSED


def test_inputs_that_a_target_cannot_take_do_not_hide_what_it_does_with_others() -> None:
    class TakesFivesOnly(LosesFives):
        def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
            if 5 not in lengths:
                raise Inexpressible("no")
            return super().assign_bins(lengths, capacity, algorithm, seed)

    assert make(KEPT(lengths_kept)).run(TakesFivesOnly()).verdict is Verdict.FAILED


def test_a_law_that_accepts_none_of_its_own_inputs_is_a_harness_error() -> None:
    def never(implementation: Implementation, lengths: list[int]) -> None:
        del implementation
        assume(lengths is None)

    outcome = make(KEPT(never)).run(OneBinEach())
    assert outcome.verdict is Verdict.HARNESS_ERROR
    assert "accepts itself" in outcome.message


@pytest.mark.parametrize("error", [KeyError(12), SystemExit(1), RecursionError("deep")])
def test_whatever_escapes_from_an_operation_is_blamed_on_the_target(error: BaseException) -> None:
    class Falls(OneBinEach):
        def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
            raise error

    outcome = make(KEPT(lengths_kept)).run(Falls())
    assert outcome.verdict is Verdict.FAILED
    assert f"assign_bins raised {type(error).__name__}" in outcome.message


def test_an_error_of_the_law_is_blamed_on_the_harness() -> None:
    def broken(implementation: Implementation, lengths: list[int]) -> None:
        del implementation
        raise KeyError(lengths)

    assert make(KEPT(broken)).run(OneBinEach()).verdict is Verdict.HARNESS_ERROR


def test_a_target_that_changes_its_arguments_is_found_with_the_original_input() -> None:
    class Sorts(OneBinEach):
        def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
            lengths.sort()
            return super().assign_bins(lengths, capacity, algorithm, seed)

    def takes_an_array(implementation: Implementation, lengths: IntArray) -> None:
        implementation.assign_bins(lengths, 8, Algorithm.FIRST_FIT, 0)

    arrays = st.lists(st.integers(1, 8)).map(lambda lengths: np.array(lengths, dtype=np.int64))
    outcome = make(given(lengths=arrays)(takes_an_array)).run(Sorts())
    assert outcome.verdict is Verdict.FAILED
    assert "leaves its arguments as they were" in outcome.message
    assert outcome.failure is not None
    assert cast("IntArray", outcome.failure.inputs["lengths"]).tolist() == [2, 1]


def test_a_target_that_answers_differently_each_time_is_found() -> None:
    class Fickle(OneBinEach):
        calls = 0

        def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
            self.calls += 1
            return () if self.calls == 7 else super().assign_bins(lengths, capacity, algorithm, seed)

    outcome = make(KEPT(lengths_kept)).run(Fickle())
    assert outcome.verdict is Verdict.FAILED
    assert "not deterministic" in outcome.message


def test_a_law_that_draws_only_trivial_inputs_is_a_harness_error() -> None:
    """The floor bites: a strategy that never draws three lengths cannot pass as a law about three."""
    three = Activity("three lengths", lambda lengths: len(lengths) >= 3, 0.3)
    trivial = make(given(lengths=st.lists(st.integers(1, 8), max_size=1))(lengths_kept), three)
    outcome = trivial.run(OneBinEach())
    assert outcome.verdict is Verdict.HARNESS_ERROR
    assert "three lengths" in outcome.message
    assert make(KEPT(lengths_kept), three).run(OneBinEach()).verdict is Verdict.PASSED


def test_a_hanging_target_stops_the_search_at_once() -> None:
    """pytest-timeout ends a test with an exception of pytest; it must not be taken for a failure and shrunk."""

    class Hangs(OneBinEach):
        calls = 0

        def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
            self.calls += 1
            pytest.fail("Timeout >1.0s")

    hangs = Hangs()
    outcome = make(KEPT(lengths_kept)).run(hangs)
    assert outcome.verdict is Verdict.HUNG
    assert hangs.calls == 1


def test_a_law_without_strategies_is_run_once() -> None:
    def once(implementation: Implementation) -> None:
        holds(implementation.assign_bins(np.array([1]), 8, Algorithm.FIRST_FIT, 0), "there is a bin")

    outcome = make(once).run(OneBinEach())
    assert (outcome.verdict, outcome.examples) == (Verdict.PASSED, 1)


def test_an_id_and_facet_cannot_be_used_twice() -> None:
    with pytest.raises(ValueError, match="exists already"):
        laws.law("BIN-001", needs=(), harm="", sources=())(lengths_kept) if catalogue() else None


def test_a_law_is_an_ordinary_test() -> None:
    """It can be called with any implementation, as pytest does with its fixture."""
    test = settings(max_examples=5)(KEPT(lengths_kept))
    cast("Any", test)(OneBinEach())
    with pytest.raises(AssertionError, match="every length"):
        cast("Any", settings(max_examples=200)(KEPT(lengths_kept)))(LosesFives())


def test_watching_forwards_every_operation() -> None:
    assert all(getattr(Watched, op.value) is not getattr(Implementation, op.value) for op in Op)

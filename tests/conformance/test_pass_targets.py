"""The pass targets: all 24 hold for the reference, and none of them holds whatever an implementation does."""

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from conformance.pass_targets import SUITES, Suite
from properties.museum import museum
from reference_impl.batches import BoundaryMetadata, PaddedBatch, Parallelism, SequenceParams, ThdBatch
from reference_impl.config import TrainingConfig, Validation
from reference_impl.interface import Implementation
from reference_impl.reference import ReferenceImplementation


def cases(file_name: str) -> Iterator[tuple[str, Callable[[Implementation], None]]]:
    """Tests of a suite with their parameters filled in, by node id."""
    module = importlib.import_module(f"conformance.pass_targets.{file_name.removesuffix('.py')}")
    for name, test in vars(module).items():
        if not name.startswith("test_"):
            continue
        marks = getattr(test, "pytestmark", [])
        if not marks:
            yield name, test
        for mark in marks:
            arguments, rows = mark.args
            for row, id in zip(rows, mark.kwargs["ids"], strict=True):
                yield f"{name}[{id}]", partial(_with, test, dict(zip(arguments, row, strict=True)))


def _with(test: Callable[..., None], parameters: Mapping[str, object], implementation: Implementation) -> None:
    test(implementation, **parameters)


TESTS = {name: test for suite in SUITES for name, test in cases(suite.file_name)}


def failures(implementation: Implementation) -> set[str]:
    failed: set[str] = set()
    for name, test in TESTS.items():
        try:
            test(implementation)
        except Exception:
            failed.add(name)
    return failed


class KeepsSentinels(ReferenceImplementation):
    """Without a count, nothing is cut."""

    def sequence_params(self, metadata: BoundaryMetadata) -> SequenceParams:
        params = super().sequence_params(metadata)
        if metadata.argmin is not None:
            return params
        return replace(params, cu_seqlens_q=metadata.cu_seqlens, cu_seqlens_kv=metadata.cu_seqlens)


class CutsBothAtOneCount(ReferenceImplementation):
    """Valid lengths are cut where the sentinels of the slots begin, counted from the end."""

    def sequence_params(self, metadata: BoundaryMetadata) -> SequenceParams:
        params = super().sequence_params(metadata)
        if metadata.cu_seqlens_unpadded is None or metadata.argmin is None:
            return params
        sentinels = metadata.cu_seqlens.size - metadata.argmin
        cut = metadata.cu_seqlens_unpadded[: metadata.cu_seqlens_unpadded.size - sentinels]
        return replace(params, cu_seqlens_q=cut, cu_seqlens_kv=cut)


class SwapsSlotsAndValid(ReferenceImplementation):
    """Slots are given as valid lengths and the reverse."""

    def sequence_params(self, metadata: BoundaryMetadata) -> SequenceParams:
        params = super().sequence_params(metadata)
        if params.cu_seqlens_q_padded is None:
            return params
        return replace(params, cu_seqlens_q=params.cu_seqlens_q_padded, cu_seqlens_q_padded=params.cu_seqlens_q)


class AlwaysPadded(ReferenceImplementation):
    """Padded arrays are there even when nothing is padded."""

    def sequence_params(self, metadata: BoundaryMetadata) -> SequenceParams:
        params = super().sequence_params(metadata)
        if params.cu_seqlens_q_padded is not None:
            return params
        return replace(params, cu_seqlens_q_padded=params.cu_seqlens_q, cu_seqlens_kv_padded=params.cu_seqlens_kv)


class KeepsTheBatchDimension(ReferenceImplementation):
    """Boundaries keep the shape (1, K) that they came in."""

    def sequence_params(self, metadata: BoundaryMetadata) -> SequenceParams:
        params = super().sequence_params(metadata)
        return (
            replace(params, cu_seqlens_q=params.cu_seqlens_q[np.newaxis]) if metadata.cu_seqlens.ndim > 1 else params
        )


class InventsTheLongest(ReferenceImplementation):
    """A longest segment that the batch does not name is worked out."""

    def sequence_params(self, metadata: BoundaryMetadata) -> SequenceParams:
        params = super().sequence_params(metadata)
        longest = int(np.diff(params.cu_seqlens_q).max())
        return replace(params, max_seqlen_q=params.max_seqlen_q or longest)


class AcceptsEverything(ReferenceImplementation):
    """No rule is looked at."""

    def validate(self, config: TrainingConfig) -> Validation:
        return Validation(accepted=True)


class RefusesEverything(ReferenceImplementation):
    """Nothing is good enough."""

    def validate(self, config: TrainingConfig) -> Validation:
        return Validation(accepted=False, errors=("no",))


class Mumbles(ReferenceImplementation):
    """Refusals do not name the setting."""

    def validate(self, config: TrainingConfig) -> Validation:
        found = super().validate(config)
        return Validation(found.accepted, tuple("invalid configuration" for _ in found.errors))


class IgnoresContextParallelism(ReferenceImplementation):
    """The step pads for one CP rank."""

    def vlm_step(self, batch: PaddedBatch, parallelism: Parallelism) -> ThdBatch:
        return super().vlm_step(batch, replace(parallelism, context=1))


class KeepsPadding(ReferenceImplementation):
    """Rows are joined with their padding."""

    def vlm_step(self, batch: PaddedBatch, parallelism: Parallelism) -> ThdBatch:
        return super().vlm_step(replace(batch, padding_mask=np.ones(batch.tokens.shape, dtype=np.bool_)), parallelism)


LOSS = "test_fine_tuning_on_several_cp_ranks_counts_tokens"
LENGTH = "test_the_length_is_divisible_by_twice_the_cp_ranks"
REFUSALS = {
    "test_offline_packs_of_several_rows_are_refused",
    "test_in_batch_packing_of_one_row_is_refused",
    f"{LENGTH}[1022-on-2]",
    f"{LENGTH}[1024-on-3]",
    f"{LOSS}[mean-per-rank]",
    f"{LOSS}[averaged-gradients]",
}
ACCEPTANCES = {name for name, _ in cases("test_config_validation.py")} - REFUSALS
JOINED, PADDED = (name for name, _ in cases("test_vlm_in_batch.py"))

BROKEN: Sequence[tuple[type[Implementation], set[str]]] = (
    (KeepsSentinels, {"test_without_a_count_the_first_sentinel_ends_the_boundaries"}),
    (CutsBothAtOneCount, {
        "test_valid_lengths_go_beside_the_slots",
        "test_without_a_count_valid_lengths_end_at_their_own_sentinel",
    }),
    (SwapsSlotsAndValid, {
        "test_valid_lengths_go_beside_the_slots",
        "test_without_a_count_valid_lengths_end_at_their_own_sentinel",
    }),
    (AlwaysPadded, {
        "test_boundaries_are_cut_at_the_count_that_comes_with_them",
        "test_one_document_may_fill_the_pack",
        "test_unpadded_packs_take_the_fast_kernel",
    }),
    (KeepsTheBatchDimension, {"test_the_micro_batch_dimension_is_dropped"}),
    (InventsTheLongest, {"test_an_unknown_longest_segment_stays_unknown"}),
    (AcceptsEverything, REFUSALS),
    (RefusesEverything, REFUSALS | ACCEPTANCES),
    (Mumbles, REFUSALS),
    (IgnoresContextParallelism, {PADDED}),
    (KeepsPadding, {JOINED, PADDED}),
)  # fmt: skip


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
def test_suite_has_its_number_of_tests(suite: Suite) -> None:
    assert len(list(cases(suite.file_name))) == suite.expected


def test_suites_have_8_14_and_2_tests() -> None:
    assert [suite.expected for suite in SUITES] == [8, 14, 2]


@pytest.mark.parametrize("name", TESTS)
def test_pass_target_holds_for_the_reference(name: str) -> None:
    TESTS[name](ReferenceImplementation())


@pytest.mark.parametrize(("broken", "expected"), BROKEN, ids=lambda value: getattr(value, "__name__", ""))
def test_broken_implementation_misses_these_pass_targets_only(
    broken: type[Implementation], expected: set[str]
) -> None:
    assert failures(broken()) == expected


def test_every_pass_target_can_be_missed() -> None:
    assert set().union(*(expected for _, expected in BROKEN)) == set(TESTS)


@pytest.mark.parametrize(
    ("bug", "expected"),
    [
        ("MB-39", {"test_offline_packs_of_several_rows_are_refused"}),
        ("MB-40", REFUSALS - {name for name in REFUSALS if "rows" in name or "row_" in name}),
        ("SK-3", {f"{LOSS}[pretraining]", f"{LENGTH}[1024-on-2]"}),
    ],
)
def test_historical_bug_misses_a_pass_target(bug: str, expected: set[str]) -> None:
    assert failures(museum()[bug].implementation()) == expected

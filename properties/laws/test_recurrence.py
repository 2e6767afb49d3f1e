"""REC: recurrent layers over a packed stream start anew with every document."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from properties.claims import near, same
from properties.law import Activity, law
from properties.oracles import convolution_of_documents, recurrence_of_documents
from properties.segments import segment_of, slots_per_segment
from properties.strategies.numerics import numbers, recurrence_inputs, seeds, uncut_layouts
from reference_impl.batches import Layout
from reference_impl.interface import Implementation, Op
from reference_impl.ranks import RecurrenceInputs

SCAN, CONVOLUTION = {Op.RECURRENCE}, {Op.SHORT_CONVOLUTION}


def _two_segments(layout: Layout, **_: object) -> bool:
    return sum(slots_per_segment(layout) > 0) > 1


TWO_SEGMENTS = Activity("two or more segments with slots", _two_segments, 0.3)


def _refilled(inputs: RecurrenceInputs, layout: Layout, segment: int, seed: int) -> RecurrenceInputs:
    """Other values, decays and gradients in one segment's slots."""
    where = (segment_of(layout) == segment)[:, None]
    changed = {
        field.name: np.where(where, 1 + numbers(getattr(inputs, field.name).shape, seed + 5) / 2, array)
        for field in fields(inputs)
        if len(array := getattr(inputs, field.name)) == len(where)
    }
    return replace(inputs, **changed)


@law(
    "REC-001",
    needs=SCAN,
    harm="state flows from one document into the next",
    sources=("I14", "I18", "MB-23", "AM-02", "P-EQUIV"),
    activity=TWO_SEGMENTS,
)
@given(layout=uncut_layouts(), seed=seeds())
def test_states_are_those_of_each_document_alone(implementation: Implementation, layout: Layout, seed: int) -> None:
    """The states of a packed stream are those of each segment alone."""
    inputs = recurrence_inputs(layout, seed)
    result = implementation.recurrence(inputs, segment_of(layout))
    near(result.out, recurrence_of_documents(inputs, layout).out, "states are those of each segment alone")


@law(
    "REC-002",
    needs=SCAN,
    harm="gradients flow from one document into the one before it",
    sources=("I14", "AM-02", "P-EQUIV"),
    activity=TWO_SEGMENTS,
)
@given(layout=uncut_layouts(), seed=seeds())
def test_gradients_of_states_are_those_of_each_document_alone(
    implementation: Implementation, layout: Layout, seed: int
) -> None:
    """The gradients of values and decays are those of each segment alone; the first decay of a segment has none."""
    inputs = recurrence_inputs(layout, seed)
    result = implementation.recurrence(inputs, segment_of(layout))
    expected = recurrence_of_documents(inputs, layout)
    near(result.grad_values, expected.grad_values, "gradients of values are those of each segment alone")
    near(result.grad_decays, expected.grad_decays, "gradients of decays are those of each segment alone")


@law(
    "REC-003",
    needs=SCAN,
    harm="documents learn from their neighbours in the pack",
    sources=("I14", "MB-23", "AM-02", "P-EQUIV"),
    activity=TWO_SEGMENTS,
)
@given(layout=uncut_layouts(), seed=seeds(), segment=st.integers(0, 3))
def test_a_document_does_not_change_the_state_of_another(
    implementation: Implementation, layout: Layout, seed: int, segment: int
) -> None:
    """Other contents of one segment leave states and gradients of all others as they were, bit for bit."""
    inputs = recurrence_inputs(layout, seed)
    before = implementation.recurrence(inputs, segment_of(layout))
    after = implementation.recurrence(_refilled(inputs, layout, segment, seed), segment_of(layout))
    others = segment_of(layout) != segment
    for field in fields(before):
        sentence = f"{field.name}: a document does not change another"
        same(getattr(after, field.name)[others], getattr(before, field.name)[others], sentence)


@law(
    "REC-004",
    facet="zero-length segments",
    needs=SCAN | CONVOLUTION,
    harm="state is reset in the wrong place where numbers are skipped",
    sources=("I14", "I18", "P-TOTAL"),
)
@given(layout=uncut_layouts(), seed=seeds(), skipped=st.integers(1, 3))
def test_numbers_of_documents_may_be_skipped(
    implementation: Implementation, layout: Layout, seed: int, skipped: int
) -> None:
    """Only where the index changes matters, not by how much."""
    inputs, taps = recurrence_inputs(layout, seed), recurrence_inputs(layout, seed, taps=True)
    index = segment_of(layout)
    spread = index * (1 + skipped) + skipped
    sentence = "numbers of documents may be skipped"
    same(implementation.recurrence(inputs, spread).out, implementation.recurrence(inputs, index).out, sentence)
    same(
        implementation.short_convolution(taps, spread).out, implementation.short_convolution(taps, index).out, sentence
    )


@law(
    "REC-005",
    needs=CONVOLUTION,
    harm="the first tokens of a document are mixed with the last ones of another",
    sources=("I14", "I18", "AM-02", "P-EQUIV"),
    activity=TWO_SEGMENTS,
)
@given(layout=uncut_layouts(), seed=seeds())
def test_convolution_is_that_of_each_document_alone(implementation: Implementation, layout: Layout, seed: int) -> None:
    """Outputs and gradients of the short convolution are those of each segment alone."""
    inputs = recurrence_inputs(layout, seed, taps=True)
    result = implementation.short_convolution(inputs, segment_of(layout))
    expected = convolution_of_documents(inputs, layout)
    near(result.out, expected.out, "the convolution is that of each segment alone")
    near(result.grad_values, expected.grad_values, "gradients of values are those of each segment alone")
    near(result.grad_decays, expected.grad_decays, "gradients of taps are summed over segments")


@law(
    "REC-006",
    needs=CONVOLUTION,
    harm="documents learn from their neighbours in the pack",
    sources=("I14", "AM-02", "P-EQUIV"),
    activity=TWO_SEGMENTS,
)
@given(layout=uncut_layouts(), seed=seeds(), segment=st.integers(0, 3))
def test_a_document_does_not_reach_another_by_convolution(
    implementation: Implementation, layout: Layout, seed: int, segment: int
) -> None:
    """Other contents of one segment leave outputs of all others as they were, bit for bit."""
    inputs = recurrence_inputs(layout, seed, taps=True)
    changed = replace(_refilled(inputs, layout, segment, seed), decays=inputs.decays)
    before = implementation.short_convolution(inputs, segment_of(layout))
    after = implementation.short_convolution(changed, segment_of(layout))
    others = segment_of(layout) != segment
    same(after.out[others], before.out[others], "a document does not reach another")
    same(after.grad_values[others], before.grad_values[others], "nor do its gradients")

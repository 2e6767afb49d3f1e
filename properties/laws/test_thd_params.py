"""THD: boundaries on their way from a batch to an attention kernel."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from properties.claims import holds, refuses, same
from properties.law import Activity, law
from properties.segments import segment_of, true_entries
from properties.strategies.batches import OPEN, TOLD, Form, boundary_metadata, metadata_of
from properties.strategies.layouts import layouts, layouts_with_zero_length_segments, multiples
from reference_impl.batches import AnyArray, BoundaryMetadata, Layout, SequenceParams
from reference_impl.interface import Implementation, Op

NEEDS = {Op.SEQUENCE_PARAMS}


def _three_segments(metadata: BoundaryMetadata) -> bool:
    return true_entries(metadata.cu_seqlens).size > 3


def _two_entries_of_padding(metadata: BoundaryMetadata) -> bool:
    return metadata.cu_seqlens.size >= true_entries(metadata.cu_seqlens).size + 2


THREE_SEGMENTS = Activity("three or more segments", _three_segments, 0.3)
SENTINELS = Activity("two or more sentinels", _two_entries_of_padding, 0.2)


def valid_boundaries(metadata: BoundaryMetadata) -> AnyArray:
    """Boundaries of valid tokens (n + 1,): those of the slots when nothing else is said."""
    unpadded = metadata.cu_seqlens_unpadded
    return true_entries(metadata.cu_seqlens if unpadded is None else unpadded)


def _keeps_every_boundary(implementation: Implementation, metadata: BoundaryMetadata) -> None:
    params = implementation.sequence_params(metadata)
    same(params.cu_seqlens_q, valid_boundaries(metadata), "the kernel gets every valid boundary and no sentinel")
    if metadata.cu_seqlens_unpadded is not None:
        slots = true_entries(metadata.cu_seqlens)
        same(params.cu_seqlens_q_padded, slots, "the kernel gets every slot boundary and no sentinel")


# Which boundaries arrive ---------------------------------------------------------------------------------------------


@law(
    "THD-001",
    needs=NEEDS,
    harm="attention mixes documents, or cuts one in two",
    sources=("P-BOUND", "MB-12", "MB-11"),
    activity=THREE_SEGMENTS,
)
@given(metadata=boundary_metadata(unpadded="absent"))
def test_kernel_gets_exactly_the_true_boundaries(implementation: Implementation, metadata: BoundaryMetadata) -> None:
    """Boundaries whose end is told by an argmin or by a sentinel arrive whole, and without their sentinels."""
    _keeps_every_boundary(implementation, metadata)


@law(
    "THD-001",
    facet="neither sentinel nor argmin",
    needs=NEEDS,
    harm="the boundaries are cut to nothing at their leading zero",
    sources=("MB-12", "MB-13", "S19"),
    activity=THREE_SEGMENTS,
)
@given(metadata=boundary_metadata(ends=OPEN, unpadded="absent"))
def test_kernel_gets_all_boundaries_without_sentinel_and_argmin(
    implementation: Implementation, metadata: BoundaryMetadata
) -> None:
    """Boundaries whose end nothing tells are all true ones."""
    _keeps_every_boundary(implementation, metadata)


@law(
    "THD-001",
    facet="argmin of the slots only",
    needs=NEEDS,
    harm="valid boundaries are cut to nothing while those of the slots stay",
    sources=("MB-12", "P-PADDED"),
    activity=THREE_SEGMENTS,
)
@given(metadata=boundary_metadata(ends=TOLD, unpadded_ends=OPEN, unpadded="present"))
def test_kernel_gets_all_valid_boundaries_without_their_argmin(
    implementation: Implementation, metadata: BoundaryMetadata
) -> None:
    """Valid boundaries arrive whole also where only the end of the slot boundaries is told."""
    _keeps_every_boundary(implementation, metadata)


@law(
    "THD-001",
    facet="argmin of the valid lengths only",
    needs=NEEDS,
    harm="slot boundaries are cut to nothing while the valid ones stay",
    sources=("MB-12", "P-PADDED"),
    activity=THREE_SEGMENTS,
)
@given(metadata=boundary_metadata(ends=OPEN, unpadded_ends=TOLD, unpadded="present"))
def test_kernel_gets_all_slot_boundaries_without_their_argmin(
    implementation: Implementation, metadata: BoundaryMetadata
) -> None:
    """Slot boundaries arrive whole also where only the end of the valid ones is told."""
    _keeps_every_boundary(implementation, metadata)


@law(
    "THD-001",
    facet="empty pack",
    needs=NEEDS,
    harm="a micro batch in which every row is empty ends the run",
    sources=("S19", "P-TOTAL"),
)
@given(one_row=st.booleans())
def test_empty_pack_has_the_boundary_zero(implementation: Implementation, one_row: bool) -> None:
    """The boundaries of no segment are ``[0]``."""
    boundaries = np.zeros((1, 1) if one_row else 1, dtype=np.int32)
    params = implementation.sequence_params(BoundaryMetadata(boundaries, argmin=1))
    same(params.cu_seqlens_q, np.zeros(1), "an empty pack has the single boundary 0")


@law(
    "THD-001",
    facet="leading dimension of one",
    needs=NEEDS,
    harm="kernels refuse the boundaries, or read those of another shape",
    sources=("P-BOUND", "B3"),
    activity=THREE_SEGMENTS,
)
@given(metadata=boundary_metadata(unpadded="absent", batch_dimension=(True,)))
def test_kernel_gets_the_boundaries_of_a_batch_of_one_row(
    implementation: Implementation, metadata: BoundaryMetadata
) -> None:
    """Boundaries that carry the dimension of a batch of one row arrive like any others."""
    _keeps_every_boundary(implementation, metadata)


@law(
    "THD-001",
    facet="zero-length segments",
    needs=NEEDS,
    harm="documents change places with the filler of a static shape",
    sources=("P-TOTAL", "I8"),
)
@given(
    metadata=boundary_metadata(layout=layouts_with_zero_length_segments(multiple=multiples()), unpadded="present"),
)
def test_kernel_gets_zero_length_segments(implementation: Implementation, metadata: BoundaryMetadata) -> None:
    """Boundaries that repeat are boundaries like any others."""
    params = implementation.sequence_params(metadata)
    same(params.cu_seqlens_q, valid_boundaries(metadata), "repeated boundaries are kept")
    for valid, padded in (
        (params.cu_seqlens_q, params.cu_seqlens_q_padded),
        (params.cu_seqlens_kv, params.cu_seqlens_kv_padded),
    ):
        if padded is not None:
            same(np.shape(padded), np.shape(valid), "repeated slot boundaries are kept like the valid ones")


@law(
    "THD-002",
    needs=NEEDS,
    harm="the kernel reads padding as tokens, or tokens from the wrong place",
    sources=("P-PADDED", "ML-30"),
    activity=THREE_SEGMENTS,
)
@given(metadata=boundary_metadata(unpadded="present"))
def test_valid_and_slot_boundaries_keep_their_places(
    implementation: Implementation, metadata: BoundaryMetadata
) -> None:
    """Where segments are padded, ``cu_seqlens_q`` counts valid tokens and ``cu_seqlens_q_padded`` slots."""
    _keeps_every_boundary(implementation, metadata)


@law(
    "THD-003",
    needs=NEEDS,
    harm="a slower attention kernel is chosen for every batch",
    sources=("MB-16", "P-PADDED"),
    activity=THREE_SEGMENTS,
)
@given(metadata=boundary_metadata(unpadded="absent"))
def test_padded_boundaries_are_absent_without_valid_lengths(
    implementation: Implementation, metadata: BoundaryMetadata
) -> None:
    """A batch that carries only one boundary array gives no padded boundaries."""
    _has_no_padded_boundaries(implementation.sequence_params(metadata))


@law(
    "THD-003",
    facet="both arrays, nothing padded",
    needs=NEEDS,
    harm="a slower attention kernel is chosen for batches that happen to be aligned",
    sources=("MB-16", "P-PADDED"),
    activity=THREE_SEGMENTS,
)
@given(metadata=boundary_metadata(unpadded="equal"))
def test_padded_boundaries_are_absent_when_equal(implementation: Implementation, metadata: BoundaryMetadata) -> None:
    """Padded boundaries are absent where they would equal the valid ones."""
    _has_no_padded_boundaries(implementation.sequence_params(metadata))


def _has_no_padded_boundaries(params: SequenceParams) -> None:
    same(params.cu_seqlens_q_padded, None, "q has no padded boundaries where nothing is padded")
    same(params.cu_seqlens_kv_padded, None, "kv has no padded boundaries where nothing is padded")


@law(
    "THD-004",
    needs=NEEDS,
    harm="queries attend to the keys of another document",
    sources=("P-BOUND",),
    activity=THREE_SEGMENTS,
)
@given(metadata=boundary_metadata())
def test_keys_have_the_boundaries_of_queries(implementation: Implementation, metadata: BoundaryMetadata) -> None:
    """In self-attention, keys and values have the boundaries and the longest segment of the queries."""
    params = implementation.sequence_params(metadata)
    same(params.cu_seqlens_kv, params.cu_seqlens_q, "kv boundaries equal q boundaries")
    same(params.cu_seqlens_kv_padded, params.cu_seqlens_q_padded, "padded kv boundaries equal padded q boundaries")
    same(params.max_seqlen_kv, params.max_seqlen_q, "the longest kv segment is the longest q segment")


# What a kernel asks of them ------------------------------------------------------------------------------------------


@law("THD-005", needs=NEEDS, harm="the kernel refuses the boundaries", sources=("P-BOUND", "B10"))
@given(metadata=boundary_metadata())
def test_boundaries_are_32_bit(implementation: Implementation, metadata: BoundaryMetadata) -> None:
    """All boundary arrays are int32."""
    params = implementation.sequence_params(metadata)
    arrays = (params.cu_seqlens_q, params.cu_seqlens_kv, params.cu_seqlens_q_padded, params.cu_seqlens_kv_padded)
    for array in arrays:
        if array is not None:
            same(array.dtype, np.dtype(np.int32), "kernels take 32-bit boundaries")


@law("THD-006", needs=NEEDS, harm="the kernel refuses the boundaries, or reads those of one row", sources=("P-BOUND",))
@given(metadata=boundary_metadata(batch_dimension=(False, True)))
def test_boundaries_are_one_dimensional(implementation: Implementation, metadata: BoundaryMetadata) -> None:
    """Boundaries are one-dimensional and of the format ``thd``, whether or not the batch has a leading dimension."""
    params = implementation.sequence_params(metadata)
    same(params.cu_seqlens_q.ndim, 1, "q boundaries have one dimension")
    same(params.cu_seqlens_kv.ndim, 1, "kv boundaries have one dimension")
    same(params.qkv_format, "thd", "packed batches have the format thd")


@law(
    "THD-007",
    needs=NEEDS,
    harm="rotary tables are too short, or the kernel skips the end of long documents",
    sources=("P-MAXSEQ", "NM-06"),
)
@given(metadata=boundary_metadata())
def test_longest_segment_is_passed_on(implementation: Implementation, metadata: BoundaryMetadata) -> None:
    """``max_seqlen`` arrives as the batch carries it, and as None where the batch carries none."""
    same(implementation.sequence_params(metadata).max_seqlen_q, metadata.max_seqlen, "max_seqlen is passed on")


@law(
    "THD-008",
    needs=NEEDS,
    harm="documents of all rows but one are lost or mixed",
    sources=("P-BOUND", "B23", "ML-22"),
)
@given(layout=layouts(multiple=multiples()), ended=st.booleans())
def test_boundaries_of_two_rows_are_refused(implementation: Implementation, layout: Layout, ended: bool) -> None:
    """Boundaries of more than one row are refused: packing needs micro batches of one row."""
    one_row = metadata_of(layout, Form((ended, 1), has_batch_dimension=True))
    two_rows = replace(one_row, cu_seqlens=np.concatenate([one_row.cu_seqlens, one_row.cu_seqlens]))
    refuses(lambda: implementation.sequence_params(two_rows), "boundaries of two rows are refused")


@law(
    "THD-009",
    needs=NEEDS,
    harm="static shapes change what the kernel computes",
    sources=("P-BOUND", "P-SHAPE", "MB-11"),
    activity=SENTINELS,
)
@given(metadata=boundary_metadata(ends=((False, 1), (False, 2), (False, 4), (True, 3)), unpadded="absent"))
def test_number_of_sentinels_does_not_matter(implementation: Implementation, metadata: BoundaryMetadata) -> None:
    """More sentinels behind the boundaries give the same boundaries."""
    more = np.concatenate([metadata.cu_seqlens, np.full_like(metadata.cu_seqlens, -1)], axis=-1)
    same(
        implementation.sequence_params(replace(metadata, cu_seqlens=more)).cu_seqlens_q,
        implementation.sequence_params(metadata).cu_seqlens_q,
        "sentinels do not change the boundaries",
    )


# Segment of each slot ------------------------------------------------------------------------------------------------


def _seq_idx(implementation: Implementation, metadata: BoundaryMetadata) -> AnyArray:
    seq_idx = implementation.sequence_params(metadata).seq_idx
    holds(seq_idx is not None, "seq_idx is there when the slots of the stream are told")
    return np.empty(0) if seq_idx is None else seq_idx


@law(
    "THD-010",
    needs=NEEDS,
    harm="recurrent state flows from one document into the next",
    sources=("MB-23", "I18"),
    activity=THREE_SEGMENTS,
)
@given(metadata=boundary_metadata(totals=("exact",)))
def test_seq_idx_names_the_segment_of_each_slot(implementation: Implementation, metadata: BoundaryMetadata) -> None:
    """With ``total_tokens``, ``seq_idx`` holds the segment of each slot, by slot boundaries and not by valid ones."""
    slots = true_entries(metadata.cu_seqlens).astype(np.int64)
    same(_seq_idx(implementation, metadata), segment_of(Layout(slots, slots)), "seq_idx is the segment of each slot")


@law(
    "THD-010",
    facet="slots behind the last segment",
    needs=NEEDS,
    harm="recurrent state of the last document is changed by padding behind it",
    sources=("MB-23", "I18"),
    activity=THREE_SEGMENTS,
)
@given(metadata=boundary_metadata(totals=("beyond",)))
def test_seq_idx_counts_the_tail_as_a_segment(implementation: Implementation, metadata: BoundaryMetadata) -> None:
    """Slots behind the last segment form one more segment, up to ``total_tokens``."""
    slots = true_entries(metadata.cu_seqlens).astype(np.int64)
    with_tail = np.append(slots, metadata.total_tokens or 0)
    same(_seq_idx(implementation, metadata), segment_of(Layout(with_tail, with_tail)), "the tail is a segment")


@law(
    "THD-010",
    facet="fewer slots than the segments have",
    needs=NEEDS,
    harm="a rank gets segment numbers for slots that it does not have",
    sources=("ML-08", "B30", "S35", "I18"),
)
@given(metadata=boundary_metadata(totals=("below",)))
def test_too_few_slots_for_seq_idx_are_refused(implementation: Implementation, metadata: BoundaryMetadata) -> None:
    """A ``total_tokens`` below the last slot boundary is refused."""
    refuses(lambda: implementation.sequence_params(metadata), "total_tokens covers all segments, or is refused")


@law("THD-011", needs=NEEDS, harm="the state-space kernel refuses seq_idx", sources=("MB-23", "I18"))
@given(metadata=boundary_metadata(totals=("exact", "beyond")))
def test_seq_idx_is_32_bit(implementation: Implementation, metadata: BoundaryMetadata) -> None:
    """``seq_idx`` is int32 and has one entry per slot."""
    seq_idx = _seq_idx(implementation, metadata)
    same(seq_idx.dtype, np.dtype(np.int32), "kernels take a 32-bit seq_idx")
    same(seq_idx.shape, (metadata.total_tokens,), "seq_idx has one entry per slot")


@law("THD-012", needs=NEEDS, harm="models without recurrence pay for seq_idx", sources=("MB-23",))
@given(metadata=boundary_metadata(totals=("absent",)))
def test_seq_idx_is_absent_unless_asked_for(implementation: Implementation, metadata: BoundaryMetadata) -> None:
    """Without ``total_tokens`` there is no ``seq_idx``."""
    same(implementation.sequence_params(metadata).seq_idx, None, "seq_idx is absent without total_tokens")


# Twice ---------------------------------------------------------------------------------------------------------------


@law(
    "THD-013",
    needs=NEEDS,
    harm="boundaries shrink each time that they are handed on",
    sources=("P-BOUND", "MB-12"),
    activity=THREE_SEGMENTS,
)
@given(metadata=boundary_metadata(unpadded="present"))
def test_parameters_of_parameters_are_the_same(implementation: Implementation, metadata: BoundaryMetadata) -> None:
    """Boundaries that came out go in again, with their number told, and come out unchanged."""
    params = implementation.sequence_params(metadata)
    padded = params.cu_seqlens_q_padded
    if padded is None:
        padded = params.cu_seqlens_q
    argmins = {"argmin": padded.size, "unpadded_argmin": params.cu_seqlens_q.size}
    handed_on = BoundaryMetadata(padded, cu_seqlens_unpadded=params.cu_seqlens_q, **argmins)
    again = implementation.sequence_params(handed_on)
    same(again.cu_seqlens_q, params.cu_seqlens_q, "valid boundaries do not change on the way")
    same(again.cu_seqlens_q_padded, params.cu_seqlens_q_padded, "slot boundaries do not change on the way")


@law(
    "THD-014", needs=NEEDS, harm="only the first micro batch of a pipeline has metadata", sources=("NM-06", "P-STAGE")
)
@given(metadata=boundary_metadata())
def test_parameters_can_be_built_twice_from_one_batch(
    implementation: Implementation, metadata: BoundaryMetadata
) -> None:
    """A second call with the same metadata gives the same parameters; the metadata is left as it was."""
    first = implementation.sequence_params(metadata)
    second = implementation.sequence_params(metadata)
    same(second.cu_seqlens_q, first.cu_seqlens_q, "the second call gives the boundaries of the first")
    same(second.max_seqlen_q, first.max_seqlen_q, "the second call gives the longest segment of the first")

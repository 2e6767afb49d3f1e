"""Batches: packed streams, padded batches before in-batch packing, and boundaries on their way to a kernel.

Every token says where it comes from, so that a law can tell which token went where: ``token(segment, offset)``.
Its label and its loss weight differ from it and from those of any other token.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Literal

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from numpy.typing import NDArray

from properties.segments import position_of, segment_of, slots_per_segment, total_slots
from properties.strategies.layouts import Padding, layouts
from reference_impl.batches import BoundaryMetadata, Layout, PaddedBatch, Parallelism, ThdBatch
from reference_impl.documents import BoolArray, IntArray

FIRST_TOKEN = 1_000
TO_LABEL = 500
"""A label is its token plus this: 1000 to 1499 are tokens of segment 0, 1500 to 1999 their labels."""


def token(segment: IntArray | int, offset: IntArray | int) -> IntArray:
    """The token at ``offset`` of ``segment``; both numbers can be read off it."""
    return np.asarray(FIRST_TOKEN * (np.asarray(segment) + 1) + offset, dtype=np.int64)


# Packed streams ------------------------------------------------------------------------------------------------------

Optional = Literal["always", "never", "sometimes"]
"""Whether labels and loss mask are there; they are absent together, as on a pipeline stage without loss."""

_OPTIONAL: dict[Optional, tuple[bool, ...]] = {
    "always": (True,),
    "never": (False,),
    "sometimes": (True, True, False),
}


@cache
def thd_batches(
    layout: SearchStrategy[Layout] | None = None, *, labels: Optional = "always"
) -> SearchStrategy[ThdBatch]:
    """Packed streams with an identity in every slot, padding included.

    Args:
        layout: boundaries, by default ``layouts()``.
        labels: whether labels and loss mask are there.
    """
    return st.builds(stream_of, layouts() if layout is None else layout, st.sampled_from(_OPTIONAL[labels]))


def stream_of(layout: Layout, has_labels: bool = True) -> ThdBatch:
    """The packed stream with these boundaries."""
    tokens = token(segment_of(layout), position_of(layout))
    return ThdBatch(
        tokens=tokens,
        labels=tokens + TO_LABEL if has_labels else None,
        loss_mask=_weights(total_slots(layout)) if has_labels else None,
        position_ids=position_of(layout),
        layout=layout,
        max_seqlen=int(slots_per_segment(layout).max(initial=0)),
    )


def _weights(count: int) -> NDArray[np.float64]:
    """Loss weights that all differ and that any float type holds exactly."""
    return np.arange(1, count + 1) / 4


# Padded batches ------------------------------------------------------------------------------------------------------

PAD_IDS = (0, 7, 151_643)
Lengths = SearchStrategy[list[int]]


ROW_MULTIPLES = st.sampled_from((1, 2, 4, 8, 6))
"""What in-batch packing pads every row to a multiple of."""


@cache
def pad_ids() -> SearchStrategy[int]:
    """Pad ids, none of them equal to a real token unless a strategy says so; one draw per example."""
    return st.shared(st.sampled_from(PAD_IDS), key="pad id")


@cache
def parallelisms(
    *, context: tuple[int, ...] = (1, 2, 3, 4), sequence_parallel: tuple[bool, ...] = (False, True)
) -> SearchStrategy[Parallelism]:
    """Sizes of context and tensor parallelism; where sequence parallelism is asked for, over two or more ranks."""
    sizes = [
        Parallelism(*choice)
        for choice in product(context, (1, 2, 3, 4), sequence_parallel)
        if choice[1] > 1 or False in sequence_parallel
    ]
    return st.sampled_from(sizes)


@cache
def right_padded(
    pad_id: SearchStrategy[int] | None = None, *, masked: Optional = "sometimes", labels: Optional = "always"
) -> SearchStrategy[PaddedBatch]:
    """One to four non-empty rows with padding on the right, and no real token equal to the pad id.

    Args:
        pad_id: the pad id drawn beside the batch, by default ``pad_ids()``.
        masked: whether there is a padding mask.
        labels: whether labels and loss mask are there.
    """
    return _batches(_right(_non_empty()), pad_id, masked, labels)


@cache
def with_littered_padding(pad_id: SearchStrategy[int] | None = None) -> SearchStrategy[PaddedBatch]:
    """Right-padded rows with a padding mask, whose padding holds other tokens than the pad id."""
    return _batches(_right(_non_empty(), extra=(1, 2)), pad_id, "always", "always", litter=True)


@cache
def left_padded(pad_id: SearchStrategy[int] | None = None) -> SearchStrategy[PaddedBatch]:
    """Non-empty rows, each with some padding on the left, and a padding mask that says so."""
    return _batches(_right(_non_empty(), extra=(1, 2)).map(_mirrored), pad_id, "always", "always")


@cache
def with_holes(pad_id: SearchStrategy[int] | None = None) -> SearchStrategy[PaddedBatch]:
    """Right-padded rows, the first of which has padding between its real tokens, and a padding mask that says so."""
    rows = st.builds(_pierced, _right(_non_empty(at_least=3)), st.integers(1, 6))
    return _batches(rows, pad_id, "always", "always")


@cache
def with_empty_rows(pad_id: SearchStrategy[int] | None = None) -> SearchStrategy[PaddedBatch]:
    """Right-padded rows of which at least one has no real token, and at least one has some."""
    lengths = st.lists(st.sampled_from([0, 3, 1, 0, 5]), min_size=2, max_size=4).filter(_mixed)
    return _batches(_right(lengths), pad_id, "sometimes", "always")


@cache
def with_only_empty_rows(pad_id: SearchStrategy[int] | None = None) -> SearchStrategy[PaddedBatch]:
    """Rows of nothing but padding."""
    lengths = st.integers(1, 3).map(lambda rows: [0] * rows)
    return _batches(_right(lengths, extra=(1, 3)), pad_id, "sometimes", "always")


@cache
def with_trailing_pad_tokens(pad_id: SearchStrategy[int] | None = None) -> SearchStrategy[PaddedBatch]:
    """Right-padded rows with a padding mask, whose last real tokens equal the pad id."""
    return _with_pad_tokens(_batches(_right(_non_empty()), pad_id, "always", "always"), pad_id, slice(-2, None))


@cache
def with_inner_pad_tokens(pad_id: SearchStrategy[int] | None = None) -> SearchStrategy[PaddedBatch]:
    """Right-padded rows without a padding mask, whose real tokens between the first and the last equal the pad id."""
    batch = _batches(_right(_non_empty(at_least=3)), pad_id, "never", "always")
    return _with_pad_tokens(batch, pad_id, slice(1, -1))


@cache
def _non_empty(at_least: int = 1, most: int = 4) -> Lengths:
    return st.lists(st.sampled_from(range(at_least, 9)), min_size=1, max_size=most)


@cache
def _right(lengths: Lengths, extra: tuple[int, int] = (0, 2)) -> SearchStrategy[BoolArray]:
    """Where right-padded rows are real (B, S); S exceeds the longest row by ``extra``."""
    return st.builds(_real, lengths, st.integers(*extra))


def _real(lengths: list[int], extra: int) -> BoolArray:
    return np.arange(max(lengths) + extra) < np.array(lengths)[:, None]


def _mixed(lengths: list[int]) -> bool:
    return any(lengths) and not all(lengths)


def _mirrored(real: BoolArray) -> BoolArray:
    return real[:, ::-1].copy()


def _pierced(real: BoolArray, where: int) -> BoolArray:
    """``real`` with one hole inside its first row."""
    length = int(real[0].sum())
    real[0, min(where, length - 2)] = False
    return real


def _batches(
    real: SearchStrategy[BoolArray],
    pad_id: SearchStrategy[int] | None,
    masked: Optional,
    labels: Optional,
    *,
    litter: bool = False,
) -> SearchStrategy[PaddedBatch]:
    choices = list(product(_OPTIONAL[masked], _OPTIONAL[labels], (litter,), (0, 2)))
    return st.builds(_padded_batch, real, pad_ids() if pad_id is None else pad_id, st.sampled_from(choices))


def _padded_batch(real: BoolArray, pad_id: int, choice: tuple[bool, bool, bool, int]) -> PaddedBatch:
    return padded_batch(real, pad_id, *choice)


def padded_batch(
    real: BoolArray, pad_id: int, has_mask: bool, has_labels: bool, litter: bool = False, start: int = 0
) -> PaddedBatch:
    """The padded batch whose tokens are real where ``real`` (B, S) says so.

    Labels, weights and positions of padding are junk that no packed stream may hold.

    Args:
        real: where tokens are real.
        pad_id: token of padding.
        has_mask: whether the batch has a padding mask.
        has_labels: whether the batch has labels and a loss mask.
        litter: padding holds other tokens than the pad id.
        start: position of a row's first real token.
    """
    offset: IntArray = np.cumsum(real, axis=1, dtype=np.int64) - 1
    rows: IntArray = np.arange(real.shape[0], dtype=np.int64).reshape(-1, 1)
    tokens = token(rows, offset)
    junk = -5 - np.arange(real.size).reshape(real.shape)
    return PaddedBatch(
        tokens=np.where(real, tokens, junk if litter else pad_id),
        labels=np.where(real, tokens + TO_LABEL, junk) if has_labels else None,
        loss_mask=np.where(real, _weights(real.size).reshape(real.shape), junk) if has_labels else None,
        position_ids=np.where(real, start + offset, 1),
        padding_mask=real if has_mask else None,
    )


def _with_pad_tokens(
    batch: SearchStrategy[PaddedBatch], pad_id: SearchStrategy[int] | None, which: slice
) -> SearchStrategy[PaddedBatch]:
    """Batches whose real tokens at ``which`` of every row are the pad id."""

    def change(batch: PaddedBatch, pad_id: int) -> PaddedBatch:
        real = batch.tokens >= FIRST_TOKEN if batch.padding_mask is None else batch.padding_mask
        for row, is_real in zip(batch.tokens, real, strict=True):
            row[np.flatnonzero(is_real)[which]] = pad_id
        return batch

    return st.builds(change, batch, pad_ids() if pad_id is None else pad_id)


# Boundaries on their way to a kernel ---------------------------------------------------------------------------------

End = tuple[bool, int]
"""How the end of a boundary array is told: whether an argmin is given, and how many sentinels follow."""

ENDED: tuple[End, ...] = ((True, 0), (True, 1), (False, 1), (True, 3), (False, 3))
TOLD: tuple[End, ...] = ((True, 0),)
OPEN: tuple[End, ...] = ((False, 0),)

Unpadded = Literal["absent", "present", "equal", "either"]
"""Valid lengths: absent, present and different from the slots, present though nothing is padded, or the first two."""

Total = Literal["absent", "exact", "beyond", "below"]
"""Slots of the stream: not told, those of the segments, more, or fewer."""


@dataclass(frozen=True)
class Form:
    """How a batch carries its boundaries.

    Attributes:
        end: how the end of ``cu_seqlens`` is told.
        unpadded_end: the same for ``cu_seqlens_unpadded``; None means that there is no such array.
        total: what is told of the slots of the stream.
        has_max: whether ``max_seqlen`` is told.
        has_batch_dimension: whether arrays have a leading dimension of 1.
    """

    end: End
    unpadded_end: End | None = None
    total: Total = "absent"
    has_max: bool = True
    has_batch_dimension: bool = False


@cache
def boundary_metadata(
    *,
    ends: tuple[End, ...] = ENDED,
    unpadded_ends: tuple[End, ...] = ENDED,
    unpadded: Unpadded = "either",
    totals: tuple[Total, ...] = ("absent", "exact", "beyond"),
    batch_dimension: tuple[bool, ...] = (False,),
    layout: SearchStrategy[Layout] | None = None,
) -> SearchStrategy[BoundaryMetadata]:
    """Boundaries as a batch carries them.

    Args:
        ends: ways in which the end of ``cu_seqlens`` is told; ``OPEN`` is none at all.
        unpadded_ends: the same for ``cu_seqlens_unpadded``.
        unpadded: whether there are valid lengths.
        totals: what is told of the slots of the stream.
        batch_dimension: whether arrays have a leading dimension of 1.
        layout: the segments; by default one to six, of at least one slot each.
    """

    def forms(valid: tuple[End | None, ...]) -> list[Form]:
        return [Form(*choice) for choice in product(ends, valid, totals, (True, False), batch_dimension)]

    without = _carried(forms((None,)), layout, "none")
    if unpadded == "absent":
        return without
    beside = _carried(forms(unpadded_ends), layout, "none" if unpadded == "equal" else "some")
    return without | beside if unpadded == "either" else beside


def _carried(
    forms: list[Form], layout: SearchStrategy[Layout] | None, padding: Padding
) -> SearchStrategy[BoundaryMetadata]:
    if layout is None:
        layout = layouts(multiple=st.sampled_from((1, 4)), padding=padding)
    return st.builds(metadata_of, layout, st.sampled_from(forms))


def metadata_of(layout: Layout, form: Form) -> BoundaryMetadata:
    """The boundaries of ``layout`` as a batch carries them."""
    last = total_slots(layout)
    unpadded = form.unpadded_end
    return BoundaryMetadata(
        cu_seqlens=_with_sentinels(layout.padded, form.end, form.has_batch_dimension),
        argmin=layout.padded.size if form.end[0] else None,
        cu_seqlens_unpadded=unpadded and _with_sentinels(layout.valid, unpadded, form.has_batch_dimension),
        unpadded_argmin=layout.valid.size if unpadded and unpadded[0] else None,
        max_seqlen=int(slots_per_segment(layout).max(initial=0)) if form.has_max else None,
        total_tokens={"absent": None, "exact": last, "beyond": last + 3, "below": last // 2}[form.total],
    )


def _with_sentinels(boundaries: IntArray, end: End, has_batch_dimension: bool) -> NDArray[np.int32]:
    flat = np.append(boundaries, [-1] * end[1]).astype(np.int32)
    return flat[None, :] if has_batch_dimension else flat

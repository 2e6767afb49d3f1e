"""Documents whose tokens say who they are, and settings that fit them.

Token ``(document + 1) * 1000 + offset`` names its document and its place in it, so that a law can say which token went
where; the last token is EOS. A plain document has one EOS, an answer that begins inside, and at least one slot. Each
kind below departs from that in one way, so that a law over one kind is broken by one kind of defect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from properties.strategies.choices import one_of
from properties.strategies.lengths import capacities, draw_lengths, multiples, packing_algorithms, seeds, unpadded
from reference_impl.documents import Bins, BoolArray, Document, IntArray, Overlong, PackSpec

IDENTITY = 1000

eos_ids: SearchStrategy[int] = st.sampled_from((0, 2, 50))


def other_than(eos_id: int) -> SearchStrategy[int]:
    """Ids for padding that are not EOS and name no document."""
    return one_of([pad_id for pad_id in (0, 1, 3, 999) if pad_id != eos_id])


def identity(document: int, offset: int) -> int:
    """The token that stands at ``offset`` of ``document``."""
    return (document + 1) * IDENTITY + offset


class Tokens(StrEnum):
    """Which tokens a document has beside those that name it."""

    PLAIN = "EOS at the end only"
    EOS_INSIDE = "EOS between other tokens"
    EOS_TAIL = "several EOS at the end"
    PAD_INSIDE = "the pad id between other tokens"
    PAD_TAIL = "the pad id right before EOS"
    NO_EOS = "no EOS at the end"


class Answers(StrEnum):
    """How a document says what is trained on."""

    START = "an answer that starts inside"
    START_AT_0 = "an answer that starts at the first token"
    START_AT_END = "an answer that starts behind the last token"
    MASK = "a loss mask of its own"
    NOTHING = "a loss mask without a single target"
    MIXED = "a loss mask in some documents, an answer start in others"


@dataclass(frozen=True)
class Kind:
    """How documents are made.

    Attributes:
        tokens: which tokens they hold.
        answers: how they say what is trained on.
        pad_is_eos: whether the pad id equals EOS.
    """

    tokens: Tokens = Tokens.PLAIN
    answers: Answers = Answers.START
    pad_is_eos: bool = True


PLAIN = Kind()


def draw_documents(
    draw: st.DrawFn, lengths: Sequence[int], eos_id: int, pad_id: int, kind: Kind = PLAIN
) -> tuple[Document, ...]:
    """One document of each runtime length, in order; length -1 gives a document without a token.

    Args:
        draw: given by Hypothesis.
        lengths: runtime lengths.
        eos_id: their last token.
        pad_id: a token that some kinds hold.
        kind: how they are made.
    """
    return tuple(
        _answered(draw, _tokens(draw, index, length, eos_id, pad_id, kind.tokens), kind.answers)
        for index, length in enumerate(lengths)
    )


def _tokens(draw: st.DrawFn, index: int, length: int, eos_id: int, pad_id: int, kind: Tokens) -> IntArray:
    tokens = identity(index, 0) + np.arange(length + 1, dtype=np.int64)
    if length >= 0 and kind != Tokens.NO_EOS:
        tokens[-1] = eos_id
    _disguise(draw, tokens, eos_id, pad_id, kind)
    return tokens


def _answered(draw: st.DrawFn, tokens: IntArray, answers: Answers) -> Document:
    stored = len(tokens)
    if answers == Answers.MIXED:
        answers = draw(one_of((Answers.MASK, Answers.START)))
    if answers == Answers.MASK:
        return Document(tokens, loss_mask=draw(masks(stored)))
    if answers == Answers.NOTHING:
        return Document(tokens, loss_mask=np.zeros(stored, dtype=np.bool_))
    if answers == Answers.START_AT_0:
        return Document(tokens, answer_start=0)
    if answers == Answers.START_AT_END:
        return Document(tokens, answer_start=stored)
    if stored < 2:
        return Document(tokens, answer_start=0)
    return Document(tokens, answer_start=draw(st.integers(1, stored - 1)))


def _disguise(draw: st.DrawFn, tokens: IntArray, eos_id: int, pad_id: int, kind: Tokens) -> None:
    """Replace some tokens, but never the first one, by EOS or the pad id."""
    last = len(tokens) - 1
    if kind == Tokens.EOS_TAIL and last >= 2:
        tokens[draw(st.integers(1, last - 1)) :] = eos_id
    if kind == Tokens.PAD_TAIL and last >= 2:
        tokens[draw(st.integers(1, last - 1)) : last] = pad_id
    if kind in (Tokens.EOS_INSIDE, Tokens.PAD_INSIDE) and last >= 3:
        inside = draw(st.lists(st.integers(1, last - 2), min_size=1, max_size=3))
        tokens[inside] = eos_id if kind == Tokens.EOS_INSIDE else pad_id


@cache
def masks(size: int) -> SearchStrategy[BoolArray]:
    """Loss masks (size,), all zeros and all ones among them."""
    every = 2**size - 1
    return (st.sampled_from((0, every)) | st.integers(0, every)).map(lambda bits: _bits(bits, size))


def _bits(bits: int, size: int) -> BoolArray:
    return np.asarray([bits >> place & 1 for place in range(size)], dtype=np.bool_)


# One document and its padding ----------------------------------------------------------------------------------------

Padding = tuple[Document, int, int]
"""A document, the longest runtime length allowed, and the multiple."""


class Fit(StrEnum):
    """How a runtime length relates to the multiple and the limit."""

    BETWEEN = "between two multiples, the next one within the limit"
    ALIGNED = "a multiple already"
    AT_LIMIT = "exactly at a limit that is a multiple"
    NEAR_LIMIT = "within a limit that is no multiple, beyond the last multiple"
    OVERLONG = "beyond the limit"


@cache
@st.composite
def paddings(draw: st.DrawFn, fit: Fit = Fit.BETWEEN, kind: Kind = PLAIN) -> Padding:
    """One document to pad or to truncate."""
    multiple = draw(multiples)
    length, limit = _draw_lengths_that(draw, fit, multiple)
    eos_id = draw(eos_ids)
    pad_id = eos_id if kind.pad_is_eos else draw(other_than(eos_id))
    (document,) = draw_documents(draw, [length], eos_id, pad_id, kind)
    return document, limit, multiple


def _draw_lengths_that(draw: st.DrawFn, fit: Fit, multiple: int) -> tuple[int, int]:
    """A runtime length and a limit that relate as ``fit`` says."""
    whole = draw(st.integers(1, 4)) * multiple
    part = draw(st.integers(1, multiple - 1))
    if fit == Fit.BETWEEN:
        return whole - part, whole + draw(st.integers(0, 2 * multiple))
    if fit == Fit.ALIGNED:
        return whole - draw(one_of((0, 0, multiple))), whole + draw(st.integers(1, 2 * multiple))
    if fit == Fit.AT_LIMIT:
        return whole, whole
    if fit == Fit.NEAR_LIMIT:
        return whole + draw(st.integers(1, part)), whole + part
    limit = whole + draw(one_of((0, part)))
    return limit + draw(one_of((1, 2, multiple, limit + 1))), limit


# Documents and bins --------------------------------------------------------------------------------------------------


@cache
@st.composite
def fillings(draw: st.DrawFn, kind: Kind = PLAIN, *, smallest: int = 1) -> tuple[tuple[Document, ...], Bins, int]:
    """Documents, bins that hold exactly their lengths, and the capacity."""
    capacity = draw(capacities())
    lengths = draw_lengths(draw, capacity, smallest=smallest)
    if smallest == 0:
        lengths = [*lengths, *[0] * draw(st.integers(0, 2))]
    if kind.answers == Answers.MIXED:  # documents of one length are filled together
        lengths = [*lengths, *lengths[:2]]
    eos_id = draw(eos_ids)
    pad_id = eos_id if kind.pad_is_eos else draw(other_than(eos_id))
    documents = draw_documents(draw, lengths, eos_id, pad_id, kind)
    first = draw(st.integers(0, len(lengths) - 1))
    return documents, _bins([*lengths[first:], *lengths[:first]], capacity, draw(st.integers(1, 4))), capacity


def _bins(lengths: Sequence[int], capacity: int, most: int) -> Bins:
    """Lengths in their order, a new bin when one is full or holds ``most``."""
    bins: list[tuple[int, ...]] = [()]
    for length in lengths:
        if len(bins[-1]) == most or sum(bins[-1]) + length > capacity:
            bins.append(())
        bins[-1] = (*bins[-1], length)
    return tuple(bins)


# Documents and settings of a whole packing run -----------------------------------------------------------------------


class Run(StrEnum):
    """How documents and settings of a packing run relate: what one document of it is."""

    ROOMY = "every document fits when padded, with a slot to spare below the longest allowed length"
    AT_LIMIT = "exactly as long as the limit and the capacity"
    OVER_LIMIT = "beyond the longest allowed length, within the capacity"
    OVER_CAPACITY = "beyond the capacity, within the longest allowed length"
    NEAR_LIMIT = "within a longest allowed length that is no multiple, beyond the last multiple"
    ALIGNED = "a multiple already"
    EOS_ALONE = "a single EOS, which fills no slot"
    EMPTY = "without a token"


@dataclass(frozen=True)
class _Sizes:
    """Lengths of the documents that make a run special, and what the plain ones must fit."""

    special: tuple[int, ...]
    longest_plain: int
    capacity: int
    max_length: int


@cache
@st.composite
def packings(
    draw: st.DrawFn,
    run: Run = Run.ROOMY,
    kind: Kind = PLAIN,
    *,
    multiple_of: SearchStrategy[int] = unpadded,
    overlong: Overlong = Overlong.TRUNCATE,
) -> tuple[tuple[Document, ...], PackSpec]:
    """Documents and settings of a packing run.

    Plain documents are never a multiple already (unless that is 1), and stay a slot below the longest allowed length.

    Args:
        draw: given by Hypothesis.
        run: how one of the documents departs from the plain ones.
        kind: how all documents are made.
        multiple_of: what documents are padded to.
        overlong: policy for overlong documents.
    """
    multiple = draw(multiple_of)
    sizes = _draw_sizes(draw, run, multiple)
    fewest = 1 if max(sizes.special, default=0) < 1 else 0
    lengths = _draw_plain_lengths(draw, sizes.longest_plain, multiple, fewest)
    position = draw(st.integers(0, len(lengths)))
    lengths = [*lengths[:position], *sizes.special, *lengths[position:]]
    eos_id = draw(eos_ids)
    pad_id = eos_id if kind.pad_is_eos else draw(other_than(eos_id))
    spec = PackSpec(
        capacity=sizes.capacity,
        algorithm=draw(packing_algorithms),
        max_length=sizes.max_length,
        pad_multiple=multiple,
        pad_id=pad_id,
        eos_id=eos_id,
        seed=draw(seeds),
        overlong=overlong,
    )
    return draw_documents(draw, lengths, eos_id, pad_id, kind), spec


def _draw_sizes(draw: st.DrawFn, run: Run, multiple: int) -> _Sizes:
    capacity = draw(capacities(smallest=max(4, 2 * multiple)))
    spare = draw(st.integers(1, 4))
    room = capacity // multiple * multiple
    if run == Run.AT_LIMIT:
        return _Sizes((room,), room - multiple, room, room)
    if run == Run.OVER_LIMIT:
        limit = draw(st.integers(multiple, capacity - 1))
        beyond = draw(st.integers(limit + 1, capacity))
        return _Sizes((beyond,), (limit - 1) // multiple * multiple, capacity, limit)
    if run == Run.OVER_CAPACITY:
        beyond = draw(one_of((capacity + 1, capacity + 2, 2 * capacity, 3 * capacity + 1)))
        return _Sizes((beyond,) * draw(one_of((1, 1, 2))), room, capacity, beyond + spare)
    if run == Run.NEAR_LIMIT:
        last = room - multiple
        part = draw(st.integers(1, multiple - 1))
        return _Sizes((last + draw(st.integers(1, part)),), last, capacity, last + part)
    special = {Run.EOS_ALONE: (0,), Run.EMPTY: (-1,)}.get(run, ())
    if run == Run.ALIGNED:
        special = (multiple * draw(st.integers(1, room // multiple)),)
    return _Sizes(special, room, capacity, capacity + spare)


def _draw_plain_lengths(draw: st.DrawFn, longest: int, multiple: int, fewest: int) -> list[int]:
    if longest < multiple:
        return []
    lengths = draw_lengths(draw, longest, fewest=fewest, most=6, multiple=multiple)
    return [length - (multiple > 1 and length % multiple == 0) for length in lengths]

"""Packed rows whose tokens say who they are, and collation settings that fit them.

Rows are made directly, not by a packer, so that laws about collation stand on their own. Documents are numbered
through all rows, with tokens as in ``documents``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from properties.readings import bins_of, ceil_to, load, metadata_of
from properties.strategies.choices import one_of
from properties.strategies.documents import eos_ids, identity, masks, other_than
from properties.strategies.lengths import as_array, multiples, seeds
from reference_impl.batches import CollateSpec
from reference_impl.documents import BoolArray, IntArray, PackedRow


class Inside(StrEnum):
    """What the documents of rows hold."""

    PLAIN = "EOS at the end only"
    EOS_INSIDE = "EOS between other tokens"
    EOS_TAIL = "several EOS at the end"
    ONLY_EOS = "EOS only, in some documents"


class Padded(StrEnum):
    """Which alignment padding the documents of rows carry."""

    NO = "none"
    EOS = "EOS"
    OTHER = "an id that is not EOS"


@dataclass(frozen=True)
class RowKind:
    """How rows are made.

    Attributes:
        inside: what the documents hold.
        padded: which alignment padding they carry.
        empty: whether some documents fill no slot.
        fewest_documents: fewest documents of a row.
        fewest_rows: fewest rows.
        most_rows: most rows.
    """

    inside: Inside = Inside.PLAIN
    padded: Padded = Padded.NO
    empty: bool = False
    fewest_documents: int = 1
    fewest_rows: int = 1
    most_rows: int = 3


PLAIN_ROWS = RowKind()


def draw_rows(
    draw: st.DrawFn, kind: RowKind = PLAIN_ROWS, *, eos_id: int, pad_id: int, multiple: int = 1
) -> tuple[PackedRow, ...]:
    """Rows of 1-4 documents with at least one slot each.

    Args:
        draw: given by Hypothesis.
        kind: how they are made.
        eos_id: last token of every document.
        pad_id: token of alignment padding.
        multiple: runtime length of padded documents.
    """
    made: list[PackedRow] = []
    first = 0
    for lengths in draw(_lengths_by_row(kind)):
        documents = [
            _tokens(draw, first + place, length, eos_id, kind.inside)
            for place, length in enumerate(lengths if any(lengths) else [*lengths, 1])
        ]
        first += len(documents)
        made.append(_row(draw, documents, pad_id, multiple, kind.padded))
    return tuple(made)


@cache
def _lengths_by_row(kind: RowKind) -> SearchStrategy[list[list[int]]]:
    lengths = st.lists(st.integers(0 if kind.empty else 1, 10), min_size=kind.fewest_documents, max_size=4)
    return st.lists(lengths, min_size=kind.fewest_rows, max_size=kind.most_rows)


def _tokens(draw: st.DrawFn, index: int, length: int, eos_id: int, inside: Inside) -> IntArray:
    tokens = identity(index, 0) + np.arange(length + 1, dtype=np.int64)
    tokens[-1] = eos_id
    if inside == Inside.EOS_INSIDE and length >= 3:
        tokens[draw(st.integers(1, length - 2))] = eos_id
    if inside == Inside.EOS_TAIL and length >= 2:
        tokens[draw(st.integers(1, length - 1)) :] = eos_id
    if inside == Inside.ONLY_EOS and draw(st.booleans()):
        tokens[:] = eos_id
    return tokens


def _row(draw: st.DrawFn, documents: Sequence[IntArray], pad_id: int, multiple: int, padded: Padded) -> PackedRow:
    tokens: list[IntArray] = []
    weights: list[BoolArray] = []
    for real in documents:
        padding = ceil_to(len(real) - 1, multiple) + 1 - len(real)
        targets = draw(masks(len(real) - 1))
        tokens.append(np.concatenate((real, np.full(padding, pad_id, dtype=np.int64))))
        weights.append(np.concatenate((targets, np.zeros(1 + padding, dtype=np.bool_))))
    stored = as_array([len(document) for document in tokens])
    return PackedRow(
        tokens=np.concatenate(tokens),
        loss_mask=np.concatenate(weights),
        starts=np.cumsum(stored) - stored,
        valid=None if padded == Padded.NO else as_array([len(real) for real in documents]),
    )


class Width(StrEnum):
    """How wide batches are."""

    FULL = "padded to the width"
    MULTIPLE = "padded to a multiple"


@cache
@st.composite
def collations(
    draw: st.DrawFn,
    kind: RowKind = PLAIN_ROWS,
    *,
    width: Width | None = None,
    answer_only_loss: bool = True,
    static: bool = False,
    mapped: bool = False,
) -> tuple[tuple[PackedRow, ...], CollateSpec]:
    """Rows and collation settings that fit them.

    Args:
        draw: given by Hypothesis.
        kind: how rows are made.
        width: how wide batches are; None means either.
        answer_only_loss: whether the stored mask decides what is trained on.
        static: whether boundary arrays have one length, by true metadata.
        mapped: whether an epoch mapping shuffles the rows.
    """
    eos_id = draw(eos_ids)
    pad_id = draw(other_than(eos_id)) if kind.padded == Padded.OTHER else eos_id
    multiple = 1 if kind.padded == Padded.NO else draw(multiples)
    made = draw_rows(draw, kind, eos_id=eos_id, pad_id=pad_id, multiple=multiple)
    widest = max(1, *(load(row) for row in made))
    capacity = widest + draw(one_of((0, 1, 2, 7)))
    to_width = static or (draw(st.booleans()) if width is None else width == Width.FULL)
    spec = CollateSpec(
        width=capacity,
        pad_to_width=to_width,
        width_multiple=draw(one_of((1, 2, 8, 16))),
        document_multiple=multiple,
        eos_id=eos_id,
        answer_only_loss=answer_only_loss,
        static_boundaries=static,
        metadata=(metadata_of(bins_of(made), capacity),) if static else (),
        n_samples=draw(st.integers(len(made), 3 * len(made))) if mapped else None,
        seed=draw(seeds),
    )
    return made, spec


@cache
def stored_rows(*, most_rows: int = 4) -> SearchStrategy[tuple[PackedRow, ...]]:
    """Rows to write and read; token ids up to the largest of 32 bits."""
    plain = st.composite(draw_rows)(RowKind(most_rows=most_rows), eos_id=0, pad_id=0)
    return st.one_of(plain, plain.map(lambda made: tuple(_with_large_ids(row) for row in made)))


def _with_large_ids(row: PackedRow) -> PackedRow:
    return PackedRow(np.where(row.tokens == 0, 0, 2**31 - 1 - row.tokens), row.loss_mask, row.starts, row.valid)

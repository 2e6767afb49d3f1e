"""Packed data as pictures: rows of cells over a common line of slots, for `draw.py` (text) and `svg.py`.

slot                0  1  2  3 | 4  5  6  7
document            a  a  a  . | b  b  .  .
position            0  1  2  3 | 0  1  2  3
CP rank             0  1  1  0 | 0  1  1  0
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

import numpy as np

from reference_impl.batches import BoundaryMetadata, Layout, PaddedBatch, Parallelism, ThdBatch
from reference_impl.context_parallel import partition
from reference_impl.documents import Document, PackedRow
from reference_impl.errors import PackingError
from reference_impl.rows_io import stored_lengths

MOST_SLOTS = 64
"""Wider things are drawn to scale or not at all: nobody reads more, and offsets beyond int32 are legal boundaries."""
MOST_RANKS = 64
"""More CP ranks than slots cannot own a slot each."""
NOBODY = -1
"""Group of a slot that no document, or no rank, owns."""


class Kind(StrEnum):
    """What the cells of a row are, for those who colour them."""

    VALUES = "values"
    DOCUMENTS = "documents"
    RANKS = "ranks"


@dataclass(frozen=True)
class Row:
    """One row of cells.

    Attributes:
        name: what it shows.
        cells: text of each cell.
        kind: what ``groups`` are.
        groups: document or rank of each cell; () for values.
        padding: which cells hold padding; () for none.
    """

    name: str
    cells: tuple[str, ...]
    kind: Kind = Kind.VALUES
    groups: tuple[int, ...] = ()
    padding: tuple[bool, ...] = ()


@dataclass(frozen=True)
class Picture:
    """Rows under one another.

    Attributes:
        name: of the value that is drawn, such as ``rows[0]``.
        rows: from top to bottom; none when the value is too wide.
        borders: columns before which a document begins.
        note: what the cells cannot say.
    """

    name: str
    rows: tuple[Row, ...] = ()
    borders: tuple[int, ...] = ()
    note: str = ""

    @property
    def width(self) -> int:
        """Cells of the longest row."""
        return max((len(row.cells) for row in self.rows), default=0)


def pictures_of(inputs: Mapping[str, object]) -> tuple[Picture, ...]:
    """Pictures of all inputs of a law that have one; with CP ranks where the law names a CP size."""
    world = _world(inputs)
    return tuple(picture for name, value in inputs.items() for picture in _pictures(name, value, world))


def picture_of(name: str, value: object, world: int = 1) -> tuple[Picture, ...]:
    """Pictures of one value, several for a sequence, none for what has no picture.

    Args:
        name: of the value.
        value: a layout, row, batch or document, or a sequence of them.
        world: CP size; above 1 a row names the rank that owns each slot.
    """
    return tuple(_pictures(name, value, world))


def letter(segment: int) -> str:
    """Name of a document in a picture: a..z, then a1, b1, ..."""
    name = string.ascii_lowercase[segment % 26]
    return name if segment < 26 else f"{name}{segment // 26}"


def _world(inputs: Mapping[str, object]) -> int:
    for value in inputs.values():
        if isinstance(value, Parallelism):
            return value.context
    world = inputs.get("world")
    return world if isinstance(world, int) else 1


def _pictures(name: str, value: object, world: int) -> Iterator[Picture]:
    if isinstance(value, Layout):
        yield _layout(name, value, {}, world)
    elif isinstance(value, ThdBatch):
        yield _layout(name, value.layout, _slot_values(value), world)
    elif isinstance(value, BoundaryMetadata):
        yield _boundaries(name, value)
    elif isinstance(value, PackedRow):
        yield from _packed_row(name, value)
    elif isinstance(value, PaddedBatch):
        yield from _padded_batch(name, value)
    elif isinstance(value, Document):
        yield from _document(name, value)
    elif isinstance(value, list | tuple):
        for number, item in enumerate(cast("Sequence[object]", value)):
            yield from _pictures(f"{name}[{number}]", item, world)


def cells_of(array: Any) -> tuple[str, ...]:
    """Cells of an array; truth values as 0 and 1."""
    flat = np.asarray(array).ravel().tolist()
    return tuple(f"{item:g}" if isinstance(item, float) else str(int(item)) for item in flat)


def _slot_values(batch: ThdBatch) -> dict[str, tuple[str, ...]]:
    arrays = {
        "position_ids": batch.position_ids,
        "tokens": batch.tokens,
        "labels": batch.labels,
        "loss_mask": batch.loss_mask,
    }
    return {name: cells_of(array) for name, array in arrays.items() if array is not None}


def _layout(name: str, layout: Layout, values: Mapping[str, tuple[str, ...]], world: int) -> Picture:
    total = int(layout.padded[-1]) if len(layout.padded) else 0
    note = f"cu_seqlens {layout.valid.tolist()}, cu_seqlens_padded {layout.padded.tolist()}"
    if not 0 < total <= MOST_SLOTS or len(layout.valid) != len(layout.padded):
        return Picture(name, note=note)
    documents, positions = document_row(layout, total)
    rows = [Row("slot", tuple(map(str, range(total)))), documents]
    rows += [] if "position_ids" in values else [Row("position", positions)]
    rows += [Row(label, cells) for label, cells in values.items()]
    ranks = rank_row(layout, world)
    if isinstance(ranks, str):
        note += f"\n{ranks}"
    elif ranks is not None:
        rows.append(ranks)
    return Picture(name, tuple(rows), _borders(layout.padded.tolist(), total), note)


def document_row(layout: Layout, total: int) -> tuple[Row, tuple[str, ...]]:
    """Document of each slot, and its position inside it."""
    groups = [NOBODY] * total
    padding = [False] * total
    positions = ["?"] * total
    for segment, (start, end) in enumerate(zip(layout.padded[:-1], layout.padded[1:], strict=True)):
        valid = int(layout.valid[segment + 1] - layout.valid[segment])
        for slot in range(max(int(start), 0), min(int(end), total)):
            groups[slot] = segment
            padding[slot] = slot - int(start) >= valid
            positions[slot] = str(slot - int(start))
    return _documents("document", groups, padding), tuple(positions)


def rank_row(layout: Layout, world: int) -> Row | str | None:
    """CP rank of each slot; why there is none, when the layout cannot be cut; None for one rank."""
    if world < 2:
        return None
    if world > MOST_RANKS:
        return f"{world} CP ranks are too many to be drawn"
    ranks = np.full(int(layout.padded[-1]), NOBODY)
    try:
        for rank in range(world):
            ranks[partition(layout, world, rank)] = rank
    except PackingError as error:
        return f"CP size {world} cannot cut it: {error}"
    return Row("CP rank", tuple(map(str, ranks.tolist())), Kind.RANKS, tuple(ranks.tolist()))


def _documents(name: str, groups: Sequence[int], padding: Sequence[bool]) -> Row:
    cells = tuple(
        "?" if group == NOBODY else "." if pad else letter(group) for group, pad in zip(groups, padding, strict=True)
    )
    return Row(name, cells, Kind.DOCUMENTS, tuple(groups), tuple(padding))


def _borders(starts: Sequence[int], width: int) -> tuple[int, ...]:
    return tuple(sorted({start for start in starts if 0 < start < width}))


def _boundaries(name: str, metadata: BoundaryMetadata) -> Picture:
    """Boundaries as a batch carries them, sentinels included."""
    arrays = {"cu_seqlens": metadata.cu_seqlens, "cu_seqlens_unpadded": metadata.cu_seqlens_unpadded}
    rows = [Row(label, cells_of(array)) for label, array in arrays.items() if array is not None]
    told = {
        "argmin": metadata.argmin,
        "unpadded_argmin": metadata.unpadded_argmin,
        "max_seqlen": metadata.max_seqlen,
        "total_tokens": metadata.total_tokens,
    }
    note = ", ".join(f"{label} {value}" for label, value in told.items() if value is not None)
    narrow = all(len(row.cells) <= MOST_SLOTS for row in rows)
    return Picture(name, tuple(rows) if narrow else (), note=note)


def _packed_row(name: str, row: PackedRow) -> Iterator[Picture]:
    size = len(row.tokens)
    if size > MOST_SLOTS:
        return
    groups = [NOBODY] * size
    padding = [False] * size
    for segment, (start, length) in enumerate(zip(row.starts.tolist(), stored_lengths(row).tolist(), strict=True)):
        valid = length if row.valid is None else int(row.valid[segment])
        for place in range(max(start, 0), min(start + length, size)):
            groups[place] = segment
            padding[place] = place - start >= valid
    rows = (
        _documents("document", groups, padding),
        Row("stored", cells_of(row.tokens)),
        Row("loss_mask", cells_of(row.loss_mask)),
    )
    yield Picture(name, rows, _borders(row.starts.tolist(), size))


def _padded_batch(name: str, batch: PaddedBatch) -> Iterator[Picture]:
    if batch.tokens.shape[-1] > MOST_SLOTS:
        return
    rows: list[Row] = []
    for number, tokens in enumerate(batch.tokens):
        cells = cells_of(tokens)
        padding: tuple[bool, ...] = ()
        if batch.padding_mask is not None:
            padding = tuple(not real for real in batch.padding_mask[number].tolist())
            cells = tuple(f"({cell})" if pad else cell for cell, pad in zip(cells, padding, strict=True))
        groups = tuple(NOBODY if pad else number for pad in padding) or (number,) * len(cells)
        rows.append(Row(f"row {number}", cells, Kind.DOCUMENTS, groups, padding or (False,) * len(cells)))
    note = "in brackets: padding" if batch.padding_mask is not None else "no padding mask"
    yield Picture(name, tuple(rows), note=note)


def _document(name: str, document: Document) -> Iterator[Picture]:
    size = len(document.tokens)
    if size > MOST_SLOTS:
        return
    rows = [Row("tokens", cells_of(document.tokens))]
    if document.loss_mask is not None:
        rows.append(Row("loss_mask", cells_of(document.loss_mask)))
    elif document.answer_start is not None:
        rows.append(Row("answer", tuple("x" if place >= document.answer_start else "-" for place in range(size))))
    yield Picture(name, tuple(rows))

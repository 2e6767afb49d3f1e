"""Packed data as small text pictures.

slot                0  1  2  3 | 4  5  6  7
document            a  a  a  . | b  b  .  .
position_ids        0  1  2  3 | 0  1  2  3
"""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from reference_impl.batches import Layout, PaddedBatch, ThdBatch
from reference_impl.documents import Document, PackedRow

MOST_SLOTS = 64
"""Wider things are not drawn: nobody reads them, and offsets beyond int32 are legal boundaries."""


def draw_inputs(inputs: Mapping[str, object]) -> str:
    """Pictures of all inputs of a law that have one."""
    pictures = [(name, draw(value)) for name, value in inputs.items()]
    return "\n\n".join(f"{name}:\n{picture}" for name, picture in pictures if picture)


def draw(value: object) -> str:
    """A picture of a layout, row, batch or document, or of a sequence of them; "" for anything else."""
    if isinstance(value, Layout):
        return _layout(value, {})
    if isinstance(value, ThdBatch):
        rows = {"tokens": value.tokens, "labels": value.labels, "loss_mask": value.loss_mask}
        return _layout(value.layout, {name: _cells(array) for name, array in rows.items() if array is not None})
    if isinstance(value, PackedRow):
        return _packed_row(value)
    if isinstance(value, PaddedBatch):
        return _padded_batch(value)
    if isinstance(value, Document):
        return _document(value)
    if isinstance(value, list | tuple):
        pictures = [draw(item) for item in cast("Sequence[object]", value)]
        return "\n".join(f"{number}:\n{picture}" for number, picture in enumerate(pictures) if picture)
    return ""


def letter(segment: int) -> str:
    """Name of a document in a picture: a..z, then a1, b1, ..."""
    name = string.ascii_lowercase[segment % 26]
    return name if segment < 26 else f"{name}{segment // 26}"


def grid(rows: Mapping[str, Sequence[str]], borders: Sequence[int]) -> str:
    """Rows of cells under one another, with a bar before each border."""
    width = max((len(cells) for cells in rows.values()), default=0)
    if width > MOST_SLOTS:
        return ""
    sizes = [max(len(cells[column]) for cells in rows.values() if column < len(cells)) for column in range(width)]
    label = max((len(name) for name in rows), default=0)
    bars = set(borders) - {0, width}
    lines: list[str] = []
    for name, cells in rows.items():
        text = "".join(
            ("| " if column in bars else "") + cell.rjust(sizes[column]) + " " for column, cell in enumerate(cells)
        )
        lines.append(f"{name.ljust(label)}  {text}".rstrip())
    return "\n".join(lines)


def _cells(array: Any) -> list[str]:
    return [f"{item:g}" if isinstance(item, float) else str(int(item)) for item in np.asarray(array).ravel().tolist()]


def _layout(layout: Layout, rows: Mapping[str, Sequence[str]]) -> str:
    total = int(layout.padded[-1]) if len(layout.padded) else 0
    boundaries = f"cu_seqlens {layout.valid.tolist()}, cu_seqlens_padded {layout.padded.tolist()}"
    if not 0 < total <= MOST_SLOTS or len(layout.valid) != len(layout.padded):
        return boundaries
    documents = ["?"] * total
    positions = ["?"] * total
    for segment, (start, end) in enumerate(zip(layout.padded[:-1], layout.padded[1:], strict=True)):
        valid = int(layout.valid[segment + 1] - layout.valid[segment])
        for slot in range(max(int(start), 0), min(int(end), total)):
            position = slot - int(start)
            documents[slot] = letter(segment) if position < valid else "."
            positions[slot] = str(position)
    slots = [str(slot) for slot in range(total)]
    picture = grid({"slot": slots, "document": documents, "position": positions, **rows}, layout.padded.tolist())
    return f"{picture}\n{boundaries}"


def _packed_row(row: PackedRow) -> str:
    size = len(row.tokens)
    documents = ["?"] * size
    ends = [*row.starts.tolist()[1:], size]
    for segment, (start, end) in enumerate(zip(row.starts.tolist(), ends, strict=True)):
        valid = end - start if row.valid is None else int(row.valid[segment])
        for place in range(max(start, 0), min(end, size)):
            documents[place] = letter(segment) if place - start < valid else "."
    return grid(
        {"document": documents, "stored": _cells(row.tokens), "loss_mask": _cells(row.loss_mask)},
        row.starts.tolist(),
    )


def _padded_batch(batch: PaddedBatch) -> str:
    lines: list[str] = []
    for number, tokens in enumerate(batch.tokens):
        cells = _cells(tokens)
        if batch.padding_mask is not None:
            real = batch.padding_mask[number].tolist()
            cells = [cell if is_real else f"({cell})" for cell, is_real in zip(cells, real, strict=True)]
        lines.append(grid({f"row {number}": cells}, ()))
    note = "  (in brackets: padding)" if batch.padding_mask is not None else "  (no padding mask)"
    return "\n".join(lines) + f"\n{note}"


def _document(document: Document) -> str:
    rows = {"tokens": _cells(document.tokens)}
    if document.loss_mask is not None:
        rows["loss_mask"] = _cells(document.loss_mask)
    elif document.answer_start is not None:
        rows["answer"] = ["x" if place >= document.answer_start else "-" for place in range(len(document.tokens))]
    return grid(rows, ())

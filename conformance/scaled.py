"""Pictures of streams that are too wide for a cell per slot: every column stands for several slots.

slot      0 64 128 192 | 256 320
document  a  a   a   . |   b   b
CP rank   0  1   1   0 |   0   1

each column is 64 slots wide and shows the first of them
a: slots 0 to 255, of which 20 are padding; 100 slots are trained on
"""

from __future__ import annotations

import numpy as np

from conformance.pictures import MOST_SLOTS, Picture, Row, document_row, letter, picture_of, rank_row
from reference_impl.batches import ThdBatch

MOST_DOCUMENTS = 40
"""Lines of text below a picture."""


def stream_picture(name: str, batch: ThdBatch, world: int = 1, columns: int = MOST_SLOTS) -> Picture:
    """A batch, slot by slot where it is narrow, to scale where it is wide.

    Args:
        name: what the picture is called.
        batch: one packed stream.
        world: CP size; above 1 a row names the rank that owns each slot.
        columns: most columns of a picture to scale.
    """
    total = int(batch.layout.padded[-1])
    if total <= MOST_SLOTS:
        return picture_of(name, batch, world)[0]
    step = -(-total // columns)
    documents, positions = document_row(batch.layout, total)
    rows = [Row("slot", tuple(map(str, range(total)))), documents, Row("position", positions)]
    ranks = rank_row(batch.layout, world)
    if isinstance(ranks, Row):
        rows.append(ranks)
    notes = [f"each column is {step} slots wide and shows the first of them", *_documents(batch)]
    if isinstance(ranks, str):
        notes.append(ranks)
    borders = {-(-int(start) // step) for start in batch.layout.padded} - {0, -(-total // step)}
    return Picture(name, tuple(_every(row, step) for row in rows), tuple(sorted(borders)), "\n".join(notes))


def _every(row: Row, step: int) -> Row:
    return Row(row.name, row.cells[::step], row.kind, row.groups[::step], row.padding[::step])


def _documents(batch: ThdBatch) -> list[str]:
    """One line per document: where it lies, what of it is padding and what is trained on."""
    layout = batch.layout
    lines: list[str] = []
    for segment, (start, end) in enumerate(zip(layout.padded[:-1], layout.padded[1:], strict=True)):
        padding = int(end - start - (layout.valid[segment + 1] - layout.valid[segment]))
        where = f"slots {start} to {end - 1}" if end > start else "no slot"
        pads = f", of which {padding} are padding" if padding else ""
        trained = ""
        if batch.loss_mask is not None:
            trained = f"; {np.count_nonzero(batch.loss_mask[start:end])} slots are trained on"
        lines.append(f"{letter(segment)}: {where}{pads}{trained}")
    hidden = len(lines) - MOST_DOCUMENTS
    return lines if hidden <= 0 else [*lines[:MOST_DOCUMENTS], f"and {hidden} documents more"]

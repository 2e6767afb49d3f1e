"""Pictures as SVG: documents and CP ranks in colour and pattern, with the letter or number in every cell.

Colours are custom properties of ``svg.css``, so that a page shows pictures in its own light or dark scheme. A picture
inside a page needs that style and ``definitions()`` once in the page; a picture in a file brings both along.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import accumulate, groupby
from pathlib import Path

from conformance.pictures import NOBODY, Kind, Picture, Row

STYLE = Path(__file__).with_name("svg.css")
DOCUMENT_COLOURS = 6
RANK_PATTERNS = 8
ROW_HEIGHT, BASELINE, LABEL_WIDTH, LETTER_WIDTH, NARROWEST, GAP = 20, 14, 100, 7.3, 22, 6
"""Lengths in user units; the letters are 12 units high."""
_STROKES = ("", "M0 8L8 0", "M0 4H8", "M0 0L8 8", "M4 0V8", "M0 8L8 0M0 0L8 8", "M0 4H8M4 0V8", "M4 3V5M3 4H5")
"""One per rank pattern: none, diagonal, horizontal, other diagonal, vertical, crossed, squared, dotted."""


def style() -> str:
    """The style sheet of pictures."""
    return STYLE.read_text(encoding="utf-8")


def definitions() -> str:
    """Fill patterns that every picture refers to."""
    patterns = [_pattern("pad", "M0 8L8 0", "pad-paper", "pad-ink")]
    patterns += [
        _pattern(f"rank{number}", stroke, f"rank-paper{number}", "rank-ink") for number, stroke in enumerate(_STROKES)
    ]
    return f"<defs>{''.join(patterns)}</defs>"


def svg(picture: Picture, top: int = 0) -> str:
    """One picture inside a page; "" when it has no rows.

    Args:
        picture: what to draw.
        top: where it begins inside of another SVG.
    """
    if not picture.rows:
        return ""
    left = _columns(picture)
    height = ROW_HEIGHT * len(picture.rows)
    parts = [part for number, row in enumerate(picture.rows) for part in _row(row, number * ROW_HEIGHT, left)]
    if picture.borders:
        edges = "".join(f"M{left[column]:g} 0V{height}" for column in picture.borders)
        parts.append(f'<path class="border" d="{edges}"/>')
    place = f' y="{top}"' if top else ""
    return _element(f'aria-label="{escape(_label(picture))}"{place}', left[-1] + GAP, height + GAP, parts)


def sheet(pictures: Sequence[Picture]) -> str:
    """Pictures with their names and notes under one another, as a file of its own."""
    parts = [f"<style>{style()}</style>", definitions()]
    width, top = 0.0, 0
    for picture in pictures:
        drawn = svg(picture, top + ROW_HEIGHT)
        height = ROW_HEIGHT * len(picture.rows) + GAP if drawn else 0
        notes = picture.note.splitlines()
        parts += [_note(picture.name, top), drawn]
        parts += [_note(line, top + height + ROW_HEIGHT * (number + 1)) for number, line in enumerate(notes)]
        width = max([width, _columns(picture)[-1] + GAP, *(LETTER_WIDTH * len(line) + GAP for line in notes)])
        top += height + ROW_HEIGHT * (len(notes) + 1) + GAP
    names = escape(", ".join(picture.name for picture in pictures))
    return _element(f'aria-label="{names}"', width, top, parts)


def _element(attributes: str, width: float, height: float, parts: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="picture" role="img" {attributes} width="{width:.0f}"'
        f' height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">{"".join(parts)}</svg>'
    )


def _note(line: str, top: int) -> str:
    return f'<text class="note" x="4" y="{top + BASELINE}">{escape(line)}</text>'


def _label(picture: Picture) -> str:
    """The picture in words, for those who do not see it."""
    rows = ". ".join(f"{row.name}: {' '.join(row.cells)}" for row in picture.rows if row.name != "slot")
    return f"{picture.name}. {rows}. {picture.note}".strip()


def _columns(picture: Picture) -> list[float]:
    """Left edge of every column, and the right edge of the last."""
    letters = [
        max(len(row.cells[column]) for row in picture.rows if column < len(row.cells))
        for column in range(picture.width)
    ]
    widths = [max(NARROWEST, round(LETTER_WIDTH * count + 8)) for count in letters]
    label = max(LABEL_WIDTH, round(LETTER_WIDTH * max((len(row.name) for row in picture.rows), default=0)) + 12)
    return list(accumulate(widths, initial=label))


def _row(row: Row, top: int, left: Sequence[float]) -> Iterator[str]:
    yield from _runs(row, top, left)
    base = top + BASELINE
    cells = "".join(
        f'<tspan x="{(left[column] + left[column + 1]) / 2:g}">{escape(cell)}</tspan>'
        for column, cell in enumerate(row.cells)
    )
    kind = ' class="slot"' if row.name == "slot" else ""
    yield f'<text class="label" x="4" y="{base}">{escape(row.name)}</text><text{kind} y="{base}">{cells}</text>'


def _runs(row: Row, top: int, left: Sequence[float]) -> Iterator[str]:
    """Neighbouring cells of one colour as one rectangle."""
    padding = row.padding or (False,) * len(row.groups)
    column = 0
    for key, run in groupby(zip(row.groups, padding, strict=True)):
        end = column + len(list(run))
        name = _class(row.kind, *key)
        if name:
            width = left[end] - left[column] - 1
            size = f'width="{width:g}" height="{ROW_HEIGHT - 2}"'
            yield f'<rect class="{name}" x="{left[column]:g}" y="{top + 1}" {size}/>'
        column = end


def _class(kind: Kind, group: int, padding: bool) -> str:
    if padding:
        return "pad"
    if group == NOBODY:
        return ""
    return f"rank{group % RANK_PATTERNS}" if kind is Kind.RANKS else f"doc{group % DOCUMENT_COLOURS}"


def _pattern(name: str, stroke: str, paper: str, ink: str) -> str:
    lines = f'<path class="{ink}" d="{stroke}"/>' if stroke else ""
    return (
        f'<pattern id="fill-{name}" width="8" height="8" patternUnits="userSpaceOnUse">'
        f'<rect class="{paper}" width="8" height="8"/>{lines}</pattern>'
    )

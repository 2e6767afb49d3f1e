"""Pictures as text.

slot                0  1  2  3 | 4  5  6  7
document            a  a  a  . | b  b  .  .
position            0  1  2  3 | 0  1  2  3
"""

from __future__ import annotations

from collections.abc import Mapping

from conformance.pictures import Picture, pictures_of


def draw_inputs(inputs: Mapping[str, object]) -> str:
    """Pictures of all inputs of a law that have one."""
    return "\n\n".join(f"{picture.name}:\n{draw(picture)}" for picture in pictures_of(inputs))


def draw(picture: Picture) -> str:
    """Rows of cells under one another, with a bar before each border, and the note below."""
    sizes = [
        max(len(row.cells[column]) for row in picture.rows if column < len(row.cells))
        for column in range(picture.width)
    ]
    label = max((len(row.name) for row in picture.rows), default=0)
    lines: list[str] = []
    for row in picture.rows:
        text = "".join(
            ("| " if column in picture.borders else "") + cell.rjust(sizes[column]) + " "
            for column, cell in enumerate(row.cells)
        )
        lines.append(f"{row.name.ljust(label)}  {text}".rstrip())
    return "\n".join([*lines, *([picture.note] if picture.note else [])])

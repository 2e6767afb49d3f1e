"""`packproof show`: one row of a packed file, or one recorded counterexample, as text or SVG."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from conformance import cases, svg
from conformance.cases import write_atomically
from conformance.draw import draw
from conformance.pictures import MOST_SLOTS, Picture, pictures_of
from conformance.scaled import stream_picture
from properties.claims import show as show_value
from reference_impl.batches import CollateSpec
from reference_impl.collate import collate, runtime_width
from reference_impl.errors import PackingError
from reference_impl.rows_io import read_rows

PACKED = (".parquet", ".npy")


def show(
    what: Annotated[
        str, typer.Argument(metavar="FILE#ROW|CASE.json", help="A row of a packed file (#0 is the first), or a case.")
    ],
    context_parallel_size: Annotated[int, typer.Option(min=1, help="Name the CP rank that owns each slot.")] = 1,
    svg_file: Annotated[Path | None, typer.Option("--svg", metavar="F", help="Write the picture here as SVG.")] = None,
) -> None:
    """Draw a pack: documents, padding, labels, positions, CP ranks."""
    path, number = _parse(what)
    console = Console()
    if number is None:
        title, pictures, words = _of_case(path, context_parallel_size)
    else:
        letters = None if svg_file else console.width
        title, pictures, words = _of_row(path, number, context_parallel_size, letters)
    if svg_file is None:
        drawn = [f"{picture.name}:\n{draw(picture)}" for picture in pictures]
        console.file.write("\n\n".join([title, *drawn, *words]) + "\n")
        return
    drawable = [picture for picture in pictures if picture.rows]
    if not drawable:
        raise PackingError("--svg", str(svg_file), f"needs something to draw, and {what} has no picture")
    try:
        write_atomically(svg_file, svg.sheet(drawable).encode("utf-8", "replace"))
    except OSError as error:
        raise PackingError("--svg", str(svg_file), f"must be a file that can be written: {error.strerror}") from error
    console.print(Text(f"drawing: {svg_file}"), soft_wrap=True)


def _parse(what: str) -> tuple[Path, int | None]:
    """Path and row of the argument; no row for a case."""
    if what.endswith(".json"):
        return Path(what), None
    name, _, number = what.rpartition("#")
    if not name.endswith(PACKED):
        way_out = f"write {what}#0 for its first row" if what.endswith(PACKED) else "name a row of a packed file"
        message = f"must be FILE.parquet#ROW, FILE.npy#ROW or CASE.json; {way_out}"
        raise PackingError("FILE#ROW", what, message)
    if not number.isdecimal():
        raise PackingError("FILE#ROW", what, f"must name the row by a number; write {name}#0 for the first")
    return Path(name), int(number)


def _of_case(path: Path, world: int) -> tuple[str, tuple[Picture, ...], list[str]]:
    case = cases.read(path)
    law = cases.law_of(case)
    inputs = cases.inputs_of(case, law)
    pictures = pictures_of(inputs if world == 1 else inputs | {"world": world})
    drawn = {picture.name.partition("[")[0] for picture in pictures}
    words = [f"{name}: {show_value(value)}" for name, value in inputs.items() if name not in drawn]
    return f"{law.key}  {law.claim}", pictures, ["\n".join([*words, *filter(None, [case.message])])]


def _of_row(path: Path, number: int, world: int, letters: int | None) -> tuple[str, tuple[Picture, ...], list[str]]:
    rows = read_rows(path)
    if number >= len(rows):
        raise PackingError("FILE#ROW", f"{path}#{number}", f"must name one of the rows 0 to {len(rows) - 1}")
    row = rows[number]
    (batch,) = collate([row], [0], CollateSpec(width=runtime_width(row)))
    columns = MOST_SLOTS
    if letters:  # a label of 14 letters, then cells as wide as the largest slot number
        columns = max(8, min(MOST_SLOTS, (letters - 14) // (len(str(runtime_width(row))) + 1)))
    picture = stream_picture(f"row {number}", batch, world, columns)
    unknown = "" if row.valid is not None else "the file does not say which slots are padding; none is drawn"
    title = f"{path}, row {number} of 0 to {len(rows) - 1}: {row.starts.size} documents, {runtime_width(row)} slots"
    return title, (picture,), [unknown] if unknown else []

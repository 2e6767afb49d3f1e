"""Drawings of packed data, as text and as SVG."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from xml.etree import ElementTree

import numpy as np
import pytest

from conformance import svg
from conformance.draw import draw, draw_inputs
from conformance.pictures import MOST_SLOTS, Picture, picture_of, pictures_of
from conformance.scaled import stream_picture
from reference_impl.batches import CollateSpec, Layout, PaddedBatch, Parallelism
from reference_impl.collate import collate, runtime_width
from reference_impl.documents import PackedRow

LAYOUT = Layout(np.array([0, 3, 5]), np.array([0, 4, 8]))
SVG = "{http://www.w3.org/2000/svg}"
README = """\
slot      0 1 2 3 | 4 5 6 7
document  a a a . | b b . .
position  0 1 2 3 | 0 1 2 3
CP rank   0 1 1 0 | 0 1 1 0
cu_seqlens [0, 3, 5], cu_seqlens_padded [0, 4, 8]"""


def row_of(*lengths: int) -> PackedRow:
    """A packed row of documents with so many stored tokens each."""
    starts = np.cumsum([0, *lengths[:-1]])
    size = sum(lengths)
    return PackedRow(np.arange(size), np.zeros(size, dtype=np.bool_), starts)


def test_a_layout_is_drawn_as_the_specification_draws_it() -> None:
    assert draw_inputs({"layout": LAYOUT, "world": 2}) == f"layout:\n{README}"


@pytest.mark.parametrize("inputs", [{"world": 2}, {"parallelism": Parallelism(context=2)}])
def test_ranks_are_drawn_where_a_law_names_a_cp_size(inputs: dict[str, object]) -> None:
    assert "CP rank" in draw_inputs({"layout": LAYOUT, **inputs})
    assert "CP rank" not in draw_inputs({"layout": LAYOUT})


def test_a_layout_that_cannot_be_cut_says_why() -> None:
    (picture,) = picture_of("layout", LAYOUT, 3)
    assert "CP size 3 cannot cut it" in picture.note
    assert [row.name for row in picture.rows] == ["slot", "document", "position"]


def test_padding_of_a_batch_is_in_brackets() -> None:
    tokens = np.array([[7, 8, 0], [9, 0, 0]])
    batch = PaddedBatch(tokens, None, None, np.zeros_like(tokens), tokens > 0)
    assert "7   8 (0)" in draw_inputs({"batch": batch})


def test_a_wide_layout_has_no_cells_but_its_boundaries() -> None:
    (picture,) = picture_of("layout", Layout(np.array([0, 65]), np.array([0, MOST_SLOTS + 1])))
    assert not picture.rows
    assert "65" in draw(picture)
    assert svg.svg(picture) == ""


def test_a_wide_stream_is_drawn_to_scale() -> None:
    row = replace(row_of(513, 257), valid=np.array([513, 200]))
    (batch,) = collate([row], [0], CollateSpec(width=runtime_width(row)))
    picture = stream_picture("row 0", batch, 2)
    assert picture.width <= MOST_SLOTS
    ranks = next(shown for shown in picture.rows if shown.name == "CP rank")
    assert set(ranks.cells) == {"0", "1"}
    assert "a: slots 0 to 511; 0 slots are trained on" in picture.note
    assert "b: slots 512 to 767, of which 57 are padding" in picture.note


def test_svg_is_xml_with_every_cell_and_a_description() -> None:
    (picture,) = pictures_of({"layout": LAYOUT, "world": 2})
    root = ElementTree.fromstring(svg.svg(picture))
    cells = [cell.text for cell in root.iter(f"{SVG}tspan")]
    assert cells == [cell for row in picture.rows for cell in row.cells]
    assert root.get("role") == "img"
    assert "document: a a a . b b . ." in str(root.get("aria-label"))


def test_svg_tells_ranks_by_pattern_and_number_not_by_colour_alone() -> None:
    (picture,) = pictures_of({"layout": LAYOUT, "world": 2})
    classes = [rect.get("class") for rect in ElementTree.fromstring(svg.svg(picture)).iter(f"{SVG}rect")]
    assert classes == ["doc0", "pad", "doc1", "pad", "rank0", "rank1", "rank0", "rank1", "rank0"]
    patterns = ElementTree.fromstring(f"<svg>{svg.definitions()}</svg>").findall(".//pattern")
    lines = [path.get("d") if (path := pattern.find("path")) is not None else "" for pattern in patterns]
    assert len(set(lines[1:])) == svg.RANK_PATTERNS


def test_neighbouring_cells_of_two_padded_rows_keep_their_own_padding() -> None:
    tokens = np.array([[7, 0], [9, 9]])
    batch = PaddedBatch(tokens, None, None, np.zeros_like(tokens), tokens > 0)
    root = ElementTree.fromstring(svg.svg(picture_of("batch", batch)[0]))
    assert [rect.get("class") for rect in root.iter(f"{SVG}rect")] == ["doc0", "pad", "doc1"]


def test_a_sheet_brings_all_that_it_refers_to() -> None:
    """A drawing in a file of its own loads nothing: style, patterns, names and notes are in it."""
    pictures = [*picture_of("first", LAYOUT, 2), *picture_of("second <&>", LAYOUT)]
    text = svg.sheet(pictures)
    root = ElementTree.fromstring(text)
    assert len(root.findall(f"{SVG}svg")) == 2
    used = set(re.findall(r"url\(#([\w-]+)\)", text))
    assert used <= {str(pattern.get("id")) for pattern in root.iter(f"{SVG}pattern")}
    assert {"first", "second <&>"} <= {note.text for note in root.iter(f"{SVG}text")}
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_names_and_notes_of_a_picture_cannot_leave_its_svg() -> None:
    hostile = Picture('"><script>', rows=picture_of("x", LAYOUT)[0].rows, note="</svg><script>")
    for text in (svg.svg(hostile), svg.sheet([hostile])):
        assert "<script" not in text
        ElementTree.fromstring(text)


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def schemes() -> list[dict[str, str]]:
    """Colours of the light and the dark scheme by name."""
    light, dark = svg.style().split("@media", 1)
    return [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", part)) for part in (light, dark)]


def test_text_is_legible_on_every_fill_in_both_schemes() -> None:
    """WCAG AA asks for a contrast of 4.5:1."""
    fills = ["paper", "pad", *(f"doc{n}" for n in range(6)), *(f"rank{n}" for n in range(8))]
    for scheme, fill in product(schemes(), fills):
        high, low = sorted((luminance(scheme["ink"]), luminance(scheme[fill])), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= 4.5, (fill, scheme[fill])

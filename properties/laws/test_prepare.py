"""Offline packing to files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import given

from properties.activities import SEVERAL, SEVERAL_PACKS
from properties.claims import holds, refuses, same
from properties.law import law
from properties.readings import (
    ambient_random,
    bins_of,
    fits_the_capacity,
    keeps_every_document,
    metadata_of,
    pads_to_multiples,
    random_state,
    stored,
)
from properties.strategies.documents import Kind, packings
from properties.strategies.lengths import multiples, parted
from reference_impl.documents import Document, PackSpec
from reference_impl.interface import Implementation, Op, PreparedFiles

Documents = tuple[Document, ...]

_documents, _spec = parted(packings())
_padded_documents, _padding_spec = parted(packings(kind=Kind(pad_is_eos=False), multiple_of=multiples))


@law(
    "PCK-020",
    needs={Op.PREPARE, Op.READ_ROWS},
    harm="documents are trained on twice, cut, or never",
    sources=("P-PERM", "P-ROUNDTRIP"),
    activity=SEVERAL,
)
@given(documents=_documents, spec=_spec)
def test_prepared_rows_keep_every_document_once(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """The rows on disk hold the documents, each whole and exactly once, and fit the capacity."""
    with TemporaryDirectory() as folder:
        rows = implementation.read_rows(implementation.prepare(documents, spec, Path(folder)).rows)
    keeps_every_document(documents, rows, spec)
    fits_the_capacity(rows, spec)


@law(
    "PCK-021",
    needs={Op.PREPARE, Op.READ_ROWS},
    harm="static boundary arrays are too short, or the number of steps is planned wrongly",
    sources=("P-STAT", "P-SHAPE", "bridge-packing 2.9"),
    activity=SEVERAL_PACKS,
)
@given(documents=_documents, spec=_spec)
def test_prepared_metadata_describes_the_rows(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """The metadata file of a first preparation has one entry, and it describes the rows on disk."""
    with TemporaryDirectory() as folder:
        files = implementation.prepare(documents, spec, Path(folder))
        rows = implementation.read_rows(files.rows)
    holds(len(rows) > 0, "there is a row")
    same(files.metadata, (metadata_of(bins_of(rows), spec.capacity),), "one entry describes the rows")


@law(
    "PCK-022",
    facet="prepared twice",
    needs={Op.PREPARE, Op.READ_ROWS},
    harm="metadata grow with every run, and stale entries widen the boundary arrays",
    sources=("P-DET", "S16", "MB-06"),
)
@given(documents=_documents, spec=_spec)
def test_preparing_again_changes_nothing(implementation: Implementation, documents: Documents, spec: PackSpec) -> None:
    """A second, identical preparation in the same folder leaves the same rows and the same metadata."""
    with TemporaryDirectory() as folder:
        first = _prepared(implementation, documents, spec, Path(folder))
        first_rows = implementation.read_rows(first.rows)
        second = _prepared(implementation, documents, spec, Path(folder))
        second_rows = implementation.read_rows(second.rows)
    same(second.rows.name, first.rows.name, "the rows are where the first preparation put them")
    same(second.metadata, first.metadata, "the metadata are as after the first preparation")
    same(stored(second_rows), stored(first_rows), "the rows are as after the first preparation")


@law(
    "PCK-022",
    facet="other documents before",
    needs={Op.PREPARE, Op.READ_ROWS},
    harm="a run trains on the packs of an earlier configuration",
    sources=("P-DET", "NM-07", "S25"),
)
@given(documents=_documents, spec=_spec)
def test_preparing_replaces_other_documents(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """In a folder that holds other packs, the rows are those of the documents that were given last."""
    others = tuple(replace(document, tokens=document.tokens + 100_000) for document in documents)
    others_end_in_eos = tuple(replace(other, tokens=np.append(other.tokens[:-1], spec.eos_id)) for other in others)
    with TemporaryDirectory() as folder:
        implementation.prepare(others_end_in_eos, spec, Path(folder))
        rows = implementation.read_rows(implementation.prepare(documents, spec, Path(folder)).rows)
    keeps_every_document(documents, rows, spec)


@law(
    "PCK-023",
    facet="ambient random state",
    needs={Op.PREPARE, Op.READ_ROWS},
    harm="two hosts prepare different files for one configuration",
    sources=("P-DET", "MB-05", "S8"),
    activity=SEVERAL,
)
@given(documents=_documents, spec=_spec)
def test_prepared_rows_depend_on_nothing_but_the_arguments(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """Equal documents and settings give equal files, whatever random numbers the process drew before."""
    made: list[object] = []
    for ambient in (1, 2):
        with TemporaryDirectory() as folder, ambient_random(ambient):
            made.append(stored(implementation.read_rows(implementation.prepare(documents, spec, Path(folder)).rows)))
    same(made[1], made[0], "the same seed gives the same rows")


@law(
    "PCK-024",
    facet="no document",
    needs={Op.PREPARE},
    harm="an empty split ends the preparation with a ZeroDivisionError",
    sources=("P-TOTAL", "S36"),
)
@given(spec=_spec)
def test_preparing_no_document_is_refused(implementation: Implementation, spec: PackSpec) -> None:
    """An empty data set is refused with an error that says so."""
    with TemporaryDirectory() as folder:
        refuses(lambda: implementation.prepare((), spec, Path(folder)), "an empty data set is refused")


@law(
    "PCK-025",
    facet="documents padded",
    needs={Op.PREPARE, Op.READ_ROWS},
    harm="context parallelism cannot cut the documents, or padding is taken for text",
    sources=("P-PERM", "P-PADDED", "P-ROUNDTRIP"),
    activity=SEVERAL,
)
@given(documents=_padded_documents, spec=_padding_spec)
def test_prepared_documents_are_padded_as_asked(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """The rows on disk hold every document once, padded to the multiple with the pad id and nothing else."""
    with TemporaryDirectory() as folder:
        rows = implementation.read_rows(implementation.prepare(documents, spec, Path(folder)).rows)
    keeps_every_document(documents, rows, spec)
    pads_to_multiples(rows, spec)


@law(
    "PCK-026",
    facet="random state kept",
    needs={Op.PREPARE},
    harm="preparing data changes what the rest of the program draws, such as dropout and data order",
    sources=("P-DET", "MB-05", "S8"),
)
@given(documents=_documents, spec=_spec)
def test_preparing_leaves_the_random_state_alone(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """The global random state is the same after the preparation as before."""
    with TemporaryDirectory() as folder, ambient_random(3):
        before = random_state()
        implementation.prepare(documents, spec, Path(folder))
        holds(random_state() == before, "the global random state is as it was")


def _prepared(implementation: Implementation, documents: Documents, spec: PackSpec, folder: Path) -> PreparedFiles:
    """One preparation in a process that has drawn the same random numbers each time."""
    with ambient_random(1):
        return implementation.prepare(documents, spec, folder)

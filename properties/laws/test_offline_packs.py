"""Offline packing in memory: packs, their statistics and their ledger."""

from __future__ import annotations

from hypothesis import given

from properties.activities import NEEDS_PADDING, OVERLONG, SEVERAL, SEVERAL_PACKS
from properties.claims import holds, same
from properties.law import law
from properties.readings import (
    ambient_random,
    bins_of,
    fits_the_capacity,
    is_part,
    metadata_of,
    packed_at_all,
    pads_to_multiples,
    random_state,
    segments_of,
    stored,
    tokens_of,
)
from properties.strategies.documents import Run, packings
from properties.strategies.lengths import multiples, parted
from reference_impl.documents import Document, Fate, PackedDataset, PackSpec
from reference_impl.errors import NotSupported
from reference_impl.interface import Implementation, Op

Documents = tuple[Document, ...]

_documents, _spec = parted(packings())
_padded_documents, _padding_spec = parted(packings(multiple_of=multiples))
_long_documents, _short_spec = parted(packings(Run.OVER_LIMIT))


@law(
    "PCK-005",
    needs={Op.PACK_DOCUMENTS},
    harm="a row is wider than the buffers, and training stops or cuts it",
    sources=("P-CAP", "AX-01"),
    activity=SEVERAL_PACKS,
)
@given(documents=_documents, spec=_spec)
def test_no_pack_exceeds_the_capacity(implementation: Implementation, documents: Documents, spec: PackSpec) -> None:
    """Every pack fills at most as many slots as the capacity."""
    fits_the_capacity(implementation.pack_documents(documents, spec).rows, spec)


@law(
    "PCK-005",
    facet="documents padded",
    needs={Op.PACK_DOCUMENTS},
    harm="padding that was not counted makes a row wider than the buffers",
    sources=("P-CAP", "P-PADDED"),
    activity=SEVERAL_PACKS,
)
@given(documents=_padded_documents, spec=_padding_spec)
def test_no_pack_of_padded_documents_exceeds_the_capacity(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """Padding counts: every pack fills at most as many slots as the capacity."""
    fits_the_capacity(implementation.pack_documents(documents, spec).rows, spec)


@law(
    "PCK-006",
    needs={Op.PACK_DOCUMENTS},
    harm="context parallelism crashes, or cuts documents at different places on different ranks",
    sources=("P-PADDED", "MB-08"),
    activity=NEEDS_PADDING,
)
@given(documents=_padded_documents, spec=_padding_spec)
def test_every_padded_document_is_a_multiple(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """Every segment's runtime length is a multiple of what documents are padded to."""
    pads_to_multiples(implementation.pack_documents(documents, spec).rows, spec)


@law(
    "PCK-007",
    needs={Op.PACK_DOCUMENTS},
    harm="static boundary arrays are too short, or the number of steps is planned wrongly",
    sources=("P-STAT", "P-SHAPE"),
    activity=SEVERAL_PACKS,
)
@given(documents=_documents, spec=_spec)
def test_metadata_describes_the_packs(implementation: Implementation, documents: Documents, spec: PackSpec) -> None:
    """The statistics are those of the packs."""
    packed = implementation.pack_documents(documents, spec)
    if packed.metadata is None:
        raise NotSupported("the target keeps no statistics")
    holds(len(packed.rows) > 0, "there is a pack")
    same(packed.metadata, metadata_of(bins_of(packed.rows), spec.capacity), "the statistics are those of the packs")


@law(
    "PCK-008",
    needs={Op.PACK_DOCUMENTS},
    harm="nobody can tell what became of a document",
    sources=("P-PERM", "P-STAT"),
    activity=SEVERAL,
)
@given(documents=_documents, spec=_spec)
def test_the_ledger_finds_every_document(implementation: Implementation, documents: Documents, spec: PackSpec) -> None:
    """Where a ledger is kept, it has one entry per document, in order, and each entry leads to its segment."""
    _has_a_true_ledger(documents, implementation.pack_documents(documents, spec))


@law(
    "PCK-008",
    facet="over-long document",
    needs={Op.PACK_DOCUMENTS},
    harm="nobody can tell which documents were cut or dropped",
    sources=("P-PERM", "P-STAT", "MB-09"),
    activity=OVERLONG,
)
@given(documents=_long_documents, spec=_short_spec)
def test_the_ledger_tells_what_became_of_overlong_documents(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """Where a ledger is kept, it says of every document whether it is whole, truncated or dropped."""
    _has_a_true_ledger(documents, packed_at_all(implementation, documents, spec))


@law(
    "PCK-011",
    facet="ambient random state",
    needs={Op.PACK_DOCUMENTS},
    harm="two hosts pack the same data differently, and a run cannot be repeated",
    sources=("P-DET", "MB-05", "S8"),
    activity=SEVERAL,
)
@given(documents=_documents, spec=_spec)
def test_packs_depend_on_nothing_but_the_arguments(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """Equal documents and settings give equal packs, whatever random numbers the process drew before."""
    with ambient_random(1):
        first = implementation.pack_documents(documents, spec)
    with ambient_random(2):
        second = implementation.pack_documents(documents, spec)
    same(stored(second.rows), stored(first.rows), "the same seed gives the same packs")


@law(
    "PCK-011",
    facet="random state kept",
    needs={Op.PACK_DOCUMENTS},
    harm="packing changes what the rest of the program draws, such as dropout and data order",
    sources=("P-DET", "MB-05", "S8"),
)
@given(documents=_documents, spec=_spec)
def test_packing_leaves_the_random_state_alone(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """The global random state is the same after the call as before."""
    with ambient_random(3):
        before = random_state()
        implementation.pack_documents(documents, spec)
        holds(random_state() == before, "the global random state is as it was")


def _has_a_true_ledger(documents: Documents, packed: PackedDataset) -> None:
    if packed.ledger is None:
        return
    same([entry.document for entry in packed.ledger], list(range(len(documents))), "each document has an entry")
    for document, entry in zip(documents, packed.ledger, strict=True):
        if entry.fate == Fate.DROPPED or entry.row is None or entry.segment is None:
            same((entry.row, entry.segment), (None, None), "a dropped document is in no row")
            continue
        found = _segment_at(packed, entry.row, entry.segment)
        whole = tokens_of(document)
        holds(is_part(found, whole), "the entry leads to the document's tokens", got=found, expected=whole)
        same(entry.fate == Fate.KEPT, len(found) == len(whole), "it says whether the document is whole")


def _segment_at(packed: PackedDataset, row: int, segment: int) -> tuple[int, ...]:
    segments = segments_of(packed.rows[row]) if row < len(packed.rows) else ()
    holds(segment < len(segments), "the entry leads to a segment", got=(row, segment))
    return segments[segment].tokens

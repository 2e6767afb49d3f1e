"""Offline packing in memory: documents that are split, and what the ledger says of parts and padding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given

from properties.activities import NEEDS_PADDING, OVERLONG
from properties.claims import holds, same
from properties.law import law
from properties.readings import (
    Pair,
    fits_the_capacity,
    segments_in,
    segments_of,
    tokens_of,
    trained_pairs,
)
from properties.strategies.documents import Run, packings
from properties.strategies.lengths import multiples, parted
from reference_impl.documents import Document, Fate, LedgerEntry, Overlong, PackedDataset, PackedRow, PackSpec
from reference_impl.errors import NotSupported
from reference_impl.interface import Implementation, Op

Documents = tuple[Document, ...]

_split_documents, _splitting_spec = parted(packings(Run.OVER_LIMIT, overlong=Overlong.SPLIT))
_huge_documents, _splitting_small_spec = parted(packings(Run.OVER_CAPACITY, overlong=Overlong.SPLIT))
_padded_documents, _padding_spec = parted(packings(multiple_of=multiples))


@law(
    "PCK-003",
    facet="split",
    needs={Op.PACK_DOCUMENTS},
    harm="the token at every cut is trained on twice, or never",
    sources=("P-PERM", "P-MASK"),
    activity=OVERLONG,
)
@given(documents=_split_documents, spec=_splitting_spec)
def test_splitting_trains_every_token_once(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """With the policy to split, every pair of a token and its target is in one pack, once, and trained if wanted."""
    rows = implementation.pack_documents(documents, spec).rows
    fits_the_capacity(rows, spec)
    stored = [pair for document in documents for pair in _neighbours(tokens_of(document))]
    found = [pair for segment in segments_in(rows) for pair in _neighbours(segment.tokens)]
    same(sorted(found), sorted(stored), "every token has its target beside it, once")
    same(_trained(rows), trained_pairs(documents), "the targets that are wanted are trained on, once")


@law(
    "PCK-003",
    facet="split, longer than a pack",
    needs={Op.PACK_DOCUMENTS},
    harm="a long document fills a row that is wider than the buffers",
    sources=("P-CAP", "MB-10"),
    activity=OVERLONG,
)
@given(documents=_huge_documents, spec=_splitting_small_spec)
def test_a_split_document_fits_into_packs(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """The parts of a document longer than a pack fit into packs, and nothing of it is lost."""
    rows = implementation.pack_documents(documents, spec).rows
    fits_the_capacity(rows, spec)
    same(_trained(rows), trained_pairs(documents), "the targets that are wanted are trained on, once")


@law(
    "PCK-008",
    facet="split",
    needs={Op.PACK_DOCUMENTS},
    harm="nobody can tell where the rest of a document is",
    sources=("P-PERM", "P-STAT"),
    activity=OVERLONG,
)
@given(documents=_split_documents, spec=_splitting_spec)
def test_the_ledger_finds_the_parts_of_a_split_document(
    implementation: Implementation, documents: Documents, spec: PackSpec
) -> None:
    """The ledger leads to the parts of every document, in order, and says whether it was split."""
    packed = implementation.pack_documents(documents, spec)
    for document, entry in _entries(documents, packed):
        parts = _parts(packed, entry)
        joined = [token for number, part in enumerate(parts) for token in part[min(number, 1) :]]
        same(
            joined,
            list(tokens_of(document)),
            "the parts follow one another, each with the last token of the one before",
        )
        same(entry.fate == Fate.SPLIT, len(parts) > 1, "it says whether the document was split")


@law(
    "PCK-008",
    facet="padding",
    needs={Op.PACK_DOCUMENTS},
    harm="nobody can tell how many slots were spent on alignment",
    sources=("P-PADDED", "P-STAT"),
    activity=NEEDS_PADDING,
)
@given(documents=_padded_documents, spec=_padding_spec)
def test_the_ledger_counts_the_padding(implementation: Implementation, documents: Documents, spec: PackSpec) -> None:
    """The ledger says how many slots of padding stand behind every document."""
    packed = implementation.pack_documents(documents, spec)
    for document, entry in _entries(documents, packed):
        slots = sum(len(part) for part in _parts(packed, entry))
        same(entry.padding, slots - len(document.tokens), "the padding is what the document does not fill")


def _entries(documents: Documents, packed: PackedDataset) -> list[tuple[Document, LedgerEntry]]:
    if packed.ledger is None:
        raise NotSupported("the target keeps no ledger")
    holds(len(packed.ledger) == len(documents), "each document has an entry", got=len(packed.ledger))
    return list(zip(documents, packed.ledger, strict=True))


def _parts(packed: PackedDataset, entry: LedgerEntry) -> list[tuple[int, ...]]:
    """Stored tokens at the places of an entry."""
    holds(entry.row is not None and entry.segment is not None, "a document that fits somewhere is in a row", got=entry)
    places = [(entry.row or 0, entry.segment or 0), *entry.rest]
    parts: list[tuple[int, ...]] = []
    for row, segment in places:
        segments = segments_of(packed.rows[row]) if row < len(packed.rows) else ()
        holds(segment < len(segments), "the entry leads to a segment", got=(row, segment))
        parts.append(segments[segment].tokens)
    return parts


def _neighbours(tokens: Sequence[int]) -> list[Pair]:
    return list(pairwise(tokens))


def _trained(rows: Sequence[PackedRow]) -> Counter[Pair]:
    return Counter(
        pair
        for segment in segments_in(rows)
        for pair, wanted in zip(_neighbours(segment.tokens), segment.trained, strict=True)
        if wanted
    )

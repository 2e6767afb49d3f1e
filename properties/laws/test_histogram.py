"""Counts of document lengths."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from properties.claims import same
from properties.law import Activity, law
from properties.strategies.lengths import as_array, lengths_and_capacity, overlong_lengths_and_capacity, parted
from reference_impl.documents import IntArray
from reference_impl.interface import Implementation, Op

_lengths, _limit = parted(lengths_and_capacity())
_lengths_with_zeros, _limit_of_zeros = parted(lengths_and_capacity(smallest=0))
_overlong_lengths, _limit_below = parted(overlong_lengths_and_capacity())


def _an_equal_pair(lengths: IntArray, **_: object) -> bool:
    return len(np.unique(lengths)) < len(lengths)


@law(
    "HST-001",
    needs={Op.HISTOGRAM},
    harm="documents are packed twice, or never",
    sources=("P-PERM", "bridge-packing 2.4"),
    activity=Activity("two documents of one length", _an_equal_pair, 0.25),
)
@given(lengths=_lengths, max_length=_limit)
def test_every_document_is_counted_at_its_length(
    implementation: Implementation, lengths: IntArray, max_length: int
) -> None:
    """There is a count for each length up to the limit, and it is the number of documents of that length."""
    counts = implementation.histogram(lengths, max_length).counts
    same(counts, np.bincount(lengths, minlength=max_length + 1), "each length has its number of documents")


@law(
    "HST-001",
    facet="exactly at the limit",
    needs={Op.HISTOGRAM},
    harm="the longest allowed documents are lost, or end the preparation",
    sources=("P-TOTAL", "bridge-packing 2.4"),
)
@given(lengths=_lengths)
def test_a_document_at_the_limit_is_counted(implementation: Implementation, lengths: IntArray) -> None:
    """A document that is exactly as long as the limit is counted."""
    limit = int(lengths.max())
    counts = implementation.histogram(lengths, limit).counts
    same(counts, np.bincount(lengths, minlength=limit + 1), "documents at the limit are counted")


@law(
    "HST-001",
    facet="zero length",
    needs={Op.HISTOGRAM},
    harm="documents of a single token are lost",
    sources=("P-PERM",),
)
@given(lengths=_lengths_with_zeros, max_length=_limit_of_zeros)
def test_documents_of_a_single_token_are_counted(
    implementation: Implementation, lengths: IntArray, max_length: int
) -> None:
    """Documents that fill no slot are counted at length zero."""
    counts = implementation.histogram(lengths, max_length).counts
    same(counts, np.bincount(lengths, minlength=max_length + 1), "each length has its number of documents")


@law(
    "HST-001",
    facet="no document",
    needs={Op.HISTOGRAM},
    harm="an empty split ends the preparation with an accident",
    sources=("P-TOTAL", "S36"),
)
@given(max_length=st.integers(1, 64))
def test_no_document_counts_as_nothing(implementation: Implementation, max_length: int) -> None:
    """Without documents every count is zero."""
    counts = implementation.histogram(as_array([]), max_length).counts
    same(counts, np.zeros(max_length + 1), "every count is zero")


@law(
    "HST-002",
    needs={Op.HISTOGRAM},
    harm="a warning about lost documents is missed, or raised for nothing",
    sources=("P-STAT", "MB-09"),
)
@given(lengths=_lengths, max_length=_limit)
def test_nothing_is_skipped_when_all_fit(implementation: Implementation, lengths: IntArray, max_length: int) -> None:
    """When every document is within the limit, none is reported as skipped."""
    same(implementation.histogram(lengths, max_length).skipped, 0, "no document is skipped")


@law(
    "HST-003",
    facet="over-long document",
    needs={Op.HISTOGRAM},
    harm="one long document ends the preparation of a whole data set",
    sources=("P-TOTAL", "P-STAT", "MB-09"),
)
@given(lengths=_overlong_lengths, max_length=_limit_below)
def test_overlong_documents_are_skipped_and_reported(
    implementation: Implementation, lengths: IntArray, max_length: int
) -> None:
    """Documents beyond the limit have no count and are reported; the others are counted as ever."""
    found = implementation.histogram(lengths, max_length)
    kept = lengths[lengths <= max_length]
    same(found.counts, np.bincount(kept, minlength=max_length + 1), "each fitting document is counted at its length")
    same(found.skipped, len(lengths) - len(kept), "every document beyond the limit is reported as skipped")


@law(
    "HST-003",
    facet="document without a token",
    needs={Op.HISTOGRAM},
    harm="an empty document vanishes without a word, or counts as the longest",
    sources=("P-STAT", "S37"),
)
@given(lengths=_lengths, max_length=_limit, position=st.integers(0, 8))
def test_documents_without_a_token_are_skipped_and_reported(
    implementation: Implementation, lengths: IntArray, max_length: int, position: int
) -> None:
    """A document without a token (length -1) has no count and is reported."""
    found = implementation.histogram(np.insert(lengths, position % (len(lengths) + 1), -1), max_length)
    same(found.counts, np.bincount(lengths, minlength=max_length + 1), "only documents with a token are counted")
    same(found.skipped, 1, "the document without a token is reported as skipped")

"""Offline packing: documents to packed rows, in memory.

    documents      a a a a a   b b b   c c c c           stored tokens
    pad_document   a a a a a   b b b . .   c c c c .     runtime length to a multiple of 4 (stored length minus 1)
    histogram      4: 3
    bins           (4, 4) (4)                            capacity 8
    fill           c c c c . a a a a a | b b b . .       any document of the right length takes a place

Source: Megatron Bridge ``data/datasets/packing_utils.py``, with the seeding of its PR #4891.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Self

import numpy as np

from reference_impl.documents import (
    Algorithm,
    Bins,
    BoolArray,
    Document,
    Histogram,
    IntArray,
    PackedDataset,
    PackedRow,
    PackingMetadata,
    PackingStrategy,
    PackSpec,
)
from reference_impl.errors import PackingError
from reference_impl.interface import Implementation
from reference_impl.lengths import checked_lengths, random_stream
from reference_impl.one_document import NO_TOKEN, real_length, runtime_length, trainable
from reference_impl.parts import Places, ledger_of, longest_allowed, parts_of


class SpentSeed(int):
    """A seed whose random stream has already given one shuffle of ``shuffled`` lengths.

    A whole packing run draws from one stream: first the shuffle of the lengths, then the order of the documents. Bins
    and rows are separate operations, so that the second one gets its seed in this form.
    """

    shuffled: int

    def __new__(cls, seed: int, shuffled: int) -> Self:
        """Return ``seed`` with the number of lengths shuffled before."""
        spent = super().__new__(cls, seed)
        spent.shuffled = shuffled
        return spent

    def stream(self) -> np.random.RandomState:
        """Return the random stream where the shuffle left it."""
        stream = random_stream(self)
        stream.shuffle(np.arange(self.shuffled))
        return stream


# Lengths and bins ----------------------------------------------------------------------------------------------------


def histogram(lengths: IntArray, max_length: int) -> Histogram:
    """Count runtime lengths.

    Args:
        lengths: (n,) int64; -1 stands for a document without a single token.
        max_length: longest length that has a count.

    Returns:
        Counts (max_length + 1,). Longer documents and those without a token are skipped, so that all counts and
        ``skipped`` add up to n.

    Raises:
        PackingError: ``max_length`` is negative, or a length is below -1 or no integer.
    """
    if max_length < 0:
        raise PackingError("max_length", max_length, "must not be negative")
    array = np.asarray(lengths)
    checked = checked_lengths(np.where(array == NO_TOKEN, np.zeros_like(array), array))
    counted = checked[(array != NO_TOKEN) & (checked <= max_length)]
    counts = np.bincount(counted, minlength=max_length + 1).astype(np.int64)
    return Histogram(counts, skipped=int(array.size - counted.size))


def packing_strategy(
    operations: Implementation, counts: IntArray, capacity: int, algorithm: Algorithm, seed: int
) -> PackingStrategy:
    """Bins and metadata of counted lengths, taken in ascending order.

    Args:
        operations: whose ``assign_bins`` is used.
        counts: (max_length + 1,) int64, documents of each runtime length.
        capacity: slots of one bin.
        algorithm: how lengths are assigned.
        seed: decides every random choice.

    Raises:
        PackingError: ``counts`` holds no document, or one longer than ``capacity``, or a negative number.
    """
    checked_counts = checked_lengths(counts, argument="counts")
    if not np.any(checked_counts):
        raise PackingError("counts", f"{checked_counts.size} times 0", "must hold a document")
    lengths = np.repeat(np.arange(checked_counts.size, dtype=np.int64), checked_counts)
    bins = operations.assign_bins(lengths, capacity, algorithm, seed)
    return PackingStrategy(bins, packing_metadata(bins, capacity))


def packing_metadata(bins: Bins, capacity: int) -> PackingMetadata:
    """Statistics of ``bins``, rounded to 2 digits as Megatron Bridge's metadata files hold them."""
    loads = [sum(lengths) for lengths in bins]
    n_documents = sum(len(lengths) for lengths in bins)
    return PackingMetadata(
        dataset_max_seqlen=max(length for lengths in bins for length in lengths),
        max_samples_per_bin=max(len(lengths) for lengths in bins),
        packing_factor=round(n_documents / len(bins), 2),
        packing_efficiency=round(sum(loads) / len(loads) / capacity * 100, 2),
        pack_size=capacity,
        min_packed_seqlen=min(loads),
    )


# Rows ----------------------------------------------------------------------------------------------------------------


def place(lengths: Sequence[int], bins: Bins, seed: int) -> Places:
    """Choose a document for every place of ``bins``.

    The documents of each length, taken in ascending order of length, are put in a random order and then used from the
    last to the first: the order in which Megatron Bridge draws its random numbers.

    Args:
        lengths: (n,) runtime lengths of the documents.
        bins: runtime lengths by bin.
        seed: decides the order of documents of one length.

    Raises:
        PackingError: the lengths of documents and bins are not the same multiset.
    """
    in_bins = sorted(length for bin_lengths in bins for length in bin_lengths)
    if sorted(lengths) != in_bins:
        raise PackingError("bins", bins, "must hold the lengths of the documents, each as often")
    of_length: defaultdict[int, list[int]] = defaultdict(list)
    for document, length in enumerate(lengths):
        of_length[length].append(document)
    stream = seed.stream() if isinstance(seed, SpentSeed) else random_stream(seed)
    waiting: dict[int, list[int]] = {}
    for length in sorted(of_length):
        order: IntArray = stream.permutation(len(of_length[length]))
        waiting[length] = [of_length[length][position] for position in order]
    return tuple(tuple(waiting[length].pop() for length in bin_lengths) for bin_lengths in bins)


def fill(documents: Sequence[Document], bins: Bins, capacity: int, seed: int) -> tuple[PackedRow, ...]:
    """Put a document of the right length into every place of ``bins``, one row per bin, places in order.

    Raises:
        PackingError: the lengths of ``documents`` and of ``bins`` are not the same multiset, a bin exceeds
            ``capacity`` or holds no document, or a document has no loss mask in either form or one of another length.
    """
    for lengths in bins:
        if not lengths:
            raise PackingError("bins", bins, "must hold a document each")
        if sum(lengths) > capacity:
            raise PackingError("bins", lengths, f"must not exceed the capacity of {capacity} slots")
    places = place([runtime_length(document) for document in documents], bins, seed)
    return tuple(packed_row([documents[document] for document in row]) for row in places)


def packed_row(documents: Sequence[Document]) -> PackedRow:
    """One row (S,) of n >= 1 documents, their loss masks moved from targets to the slots that predict them.

    tokens       5 6 7 0 | 8 9 0
    trainable    . . T T | . T T     of the token itself
    loss_mask    . T T . | T T .     of the token after it, never across a border
    """
    stored = np.array([document.tokens.size for document in documents], dtype=np.int64)
    masks: list[BoolArray] = []
    for document in documents:
        mask = trainable(document)
        if mask is None:
            raise PackingError("loss_mask", None, "must be given, or answer_start, to tell what is trained")
        masks.append(np.append(mask[1:], np.False_))
    return PackedRow(
        tokens=np.concatenate([document.tokens for document in documents]).astype(np.int64),
        loss_mask=np.concatenate(masks),
        starts=np.cumsum(stored) - stored,
        valid=np.array([real_length(document) for document in documents], dtype=np.int64),
    )


# The whole path ------------------------------------------------------------------------------------------------------


def pack_documents(operations: Implementation, documents: Sequence[Document], spec: PackSpec) -> PackedDataset:
    """Cut, pad, assign, fill, and keep a ledger of what became of every document.

    Args:
        operations: whose ``pad_document``, ``histogram``, ``packing_strategy`` and ``fill`` are used.
        documents: what to pack; those without a token are dropped.
        spec: settings.

    Raises:
        PackingError: there is no document left to pack, or the overlong policy is to reject and one is overlong.
    """
    longest = longest_allowed(spec)
    parts = parts_of(documents, spec)
    padded = [
        operations.pad_document(part.of(documents[part.document]), longest, spec.pad_multiple, spec.pad_id)
        for part in parts
    ]
    lengths = np.array([runtime_length(document) for document in padded], dtype=np.int64)
    counts = operations.histogram(lengths, longest).counts
    strategy = operations.packing_strategy(counts, spec.capacity, spec.algorithm, spec.seed)
    seed = spec.seed
    if spec.algorithm == Algorithm.FIRST_FIT_SHUFFLE:
        seed = SpentSeed(spec.seed, shuffled=len(padded))
    rows = operations.fill(padded, strategy.bins, spec.capacity, spec.pad_id, seed)
    places = place([int(length) for length in lengths], strategy.bins, seed)
    return PackedDataset(rows, strategy.metadata, ledger_of(documents, parts, padded, places))

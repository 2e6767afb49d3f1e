"""The whole offline path at speed and in little memory: documents to a Parquet file of packs.

``prepare`` leaves the same rows and metadata as the operation of that name, which is its specification. It looks at
every document twice: once for its length, and once when its row group is written. A sequence that makes its documents
when they are asked for is therefore never in memory as a whole; beside it there are some arrays of one number per
document, and one row group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reference_impl.bins import FlatBins, flat_bins
from reference_impl.documents import Algorithm, BoolArray, Document, IntArray, PackingMetadata, PackSpec
from reference_impl.errors import PackingError
from reference_impl.interface import PreparedFiles
from reference_impl.lengths import random_stream
from reference_impl.one_document import check_document, length_limit, real_length
from reference_impl.parquet_rows import ROWS_PER_GROUP, RowGroup, write_groups
from reference_impl.parts import Part, longest_allowed, parts_with_documents
from reference_impl.prepared import replace_prepared
from reference_impl.rows_io import write_atomically


def prepare(documents: Sequence[Document], spec: PackSpec, folder: Path) -> PreparedFiles:
    """Pack ``documents`` into files under ``folder``; see ``Implementation.prepare``.

    Raises:
        PackingError: as ``pack_documents``, or a document has no loss mask in either form.
    """
    lengths = _Lengths.of(documents, spec)
    bins = flat_bins(np.sort(lengths.slots), spec.capacity, spec.algorithm, spec.seed)
    order = _parts_by_place(lengths.slots, bins, spec)
    groups = _row_groups(_Packing(documents, lengths, spec.pad_id), bins, order)
    return replace_prepared(
        folder,
        ".parquet",
        flat_metadata(bins, spec.capacity),
        lambda path: write_atomically(path, lambda file: write_groups(groups, file)),
    )


def flat_metadata(bins: FlatBins, capacity: int) -> PackingMetadata:
    """``packing_metadata`` of bins as arrays."""
    loads = np.add.reduceat(bins.lengths, bins.bounds[:-1])
    sizes = np.diff(bins.bounds)
    return PackingMetadata(
        dataset_max_seqlen=int(bins.lengths.max()),
        max_samples_per_bin=int(sizes.max()),
        packing_factor=round(int(sizes.sum()) / sizes.size, 2),
        packing_efficiency=round(int(loads.sum()) / loads.size / capacity * 100, 2),
        pack_size=capacity,
        min_packed_seqlen=int(loads.min()),
    )


@dataclass(frozen=True, eq=False)
class _Lengths:
    """Lengths of n parts.

    Attributes:
        parts: what is packed.
        slots: (n,) int64, runtime length with padding.
        real: (n,) int64, stored tokens without padding.
    """

    parts: Sequence[Part]
    slots: IntArray
    real: IntArray

    @classmethod
    def of(cls, documents: Sequence[Document], spec: PackSpec) -> _Lengths:
        """Check every document and measure its parts.

        Raises:
            PackingError: a document contradicts itself, does not say what is trained, or as ``parts_of``.
        """
        parts: list[Part] = []
        real: list[int] = []
        for part, document in parts_with_documents(documents, spec):
            check_document(document)
            if document.loss_mask is None and document.answer_start is None:
                raise PackingError("loss_mask", None, "must be given, or answer_start, to tell what is trained")
            parts.append(part)
            real.append(min(max(real_length(document) - part.start, 0), part.end - part.start))
        stored = np.array([part.end - part.start for part in parts], dtype=np.int64)
        step = spec.pad_multiple or 1
        limit = length_limit(longest_allowed(spec), spec.pad_multiple)
        slots = np.minimum(-(-(stored - 1) // step) * step, limit)
        return cls(parts, slots, np.minimum(np.array(real, dtype=np.int64), slots + 1))


def _parts_by_place(lengths: IntArray, bins: FlatBins, spec: PackSpec) -> IntArray:
    """Part for every place of ``bins`` (n,): ``offline.place`` on arrays, with the same draws in the same order."""
    stream = random_stream(spec.seed)
    if spec.algorithm == Algorithm.FIRST_FIT_SHUFFLE:
        stream.shuffle(np.arange(lengths.size))
    by_length = np.argsort(lengths, kind="stable")
    bounds = np.flatnonzero(np.diff(lengths[by_length], prepend=-1, append=-1))
    for start, end in pairwise(bounds.tolist()):
        # The places of one length take its parts from the last of the random order to the first.
        by_length[start:end] = by_length[start:end][stream.permutation(end - start)][::-1]
    order = np.empty_like(by_length)
    order[np.argsort(bins.lengths, kind="stable")] = by_length
    return order


@dataclass(frozen=True, eq=False)
class _Packing:
    """What is packed."""

    documents: Sequence[Document]
    lengths: _Lengths
    pad_id: int

    def copy(self, number: int, tokens: IntArray, loss_mask: NDArray[np.int8]) -> None:
        """Write one part into its stored slots (L,), which hold padding and zeros."""
        part = self.lengths.parts[number]
        document = self.documents[part.document]
        real = int(self.lengths.real[number])
        kept = min(part.end - part.start, tokens.size)
        tokens[:kept] = document.tokens[part.start : part.start + kept]
        if document.loss_mask is not None:
            wanted: BoolArray = document.loss_mask[part.start + 1 : part.start + real].astype(np.bool_)
            loss_mask[: max(real - 1, 0)] = wanted
        elif document.answer_start is not None:
            loss_mask[max(document.answer_start - part.start - 1, 0) : max(real - 1, 0)] = 1


def _row_groups(packing: _Packing, bins: FlatBins, order: IntArray) -> Iterator[RowGroup]:
    """The rows of ``bins``, a row group at a time."""
    stored = packing.lengths.slots[order] + 1
    n_rows = bins.bounds.size - 1
    for first in range(0, n_rows, ROWS_PER_GROUP):
        document_bounds = bins.bounds[first : min(first + ROWS_PER_GROUP, n_rows) + 1]
        places = slice(int(document_bounds[0]), int(document_bounds[-1]))
        ends = np.cumsum(stored[places])
        begins = ends - stored[places]
        token_bounds = np.append(begins, ends[-1])[document_bounds - document_bounds[0]]
        tokens = np.full(int(ends[-1]), packing.pad_id, dtype=np.int64)
        loss_mask = np.zeros(tokens.size, dtype=np.int8)
        for number, begin, end in zip(order[places].tolist(), begins.tolist(), ends.tolist(), strict=True):
            packing.copy(number, tokens[begin:end], loss_mask[begin:end])
        yield RowGroup(
            tokens=tokens,
            loss_mask=loss_mask,
            token_bounds=token_bounds,
            starts=begins - np.repeat(token_bounds[:-1], np.diff(document_bounds)),
            valid=packing.lengths.real[order[places]],
            document_bounds=document_bounds - document_bounds[0],
        )

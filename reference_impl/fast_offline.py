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
from reference_impl.documents import Algorithm, Document, IntArray, PackingMetadata, PackSpec
from reference_impl.errors import PackingError
from reference_impl.interface import PreparedFiles
from reference_impl.lengths import random_stream
from reference_impl.one_document import check_document, length_limit, real_length
from reference_impl.parquet_rows import ROWS_PER_GROUP, RowGroup, write_groups
from reference_impl.parts import longest_allowed, parts_with_documents
from reference_impl.prepared import replace_prepared
from reference_impl.rows_io import write_atomically


def prepare(documents: Sequence[Document], spec: PackSpec, folder: Path) -> PreparedFiles:
    """Pack ``documents`` into files under ``folder``; see ``Implementation.prepare``.

    Raises:
        PackingError: as ``pack_documents``, or a document has no loss mask in either form.
    """
    parts = _Parts.of(documents, spec)
    bins = flat_bins(np.sort(parts.slots), spec.capacity, spec.algorithm, spec.seed)
    order = _parts_by_place(parts.slots, bins, spec)
    groups = _row_groups(documents, parts, bins, order, spec.pad_id)
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
class _Parts:
    """n parts of documents, and their lengths; plain lists, which the garbage collector need not look through.

    Attributes:
        document: index of the document of each.
        start, end: stored tokens of the document that belong to it.
        slots: (n,) int64, runtime length with padding.
        real: (n,) int64, stored tokens without padding.
    """

    document: list[int]
    start: list[int]
    end: list[int]
    slots: IntArray
    real: IntArray

    @classmethod
    def of(cls, documents: Sequence[Document], spec: PackSpec) -> _Parts:
        """Check every document and measure its parts.

        Raises:
            PackingError: a document contradicts itself, does not say what is trained, or as ``parts_of``.
        """
        indices: list[int] = []
        starts: list[int] = []
        ends: list[int] = []
        reals: list[int] = []
        for (index, start, end), document in parts_with_documents(documents, spec):
            check_document(document)
            if document.loss_mask is None and document.answer_start is None:
                raise PackingError("loss_mask", None, "must be given, or answer_start, to tell what is trained")
            indices.append(index)
            starts.append(start)
            ends.append(end)
            reals.append(real_length(document) - start)
        stored = np.array(ends, dtype=np.int64) - np.array(starts, dtype=np.int64)
        step = spec.pad_multiple or 1
        limit = length_limit(longest_allowed(spec), spec.pad_multiple)
        slots = np.minimum(-(-(stored - 1) // step) * step, limit)
        real = np.clip(np.array(reals, dtype=np.int64), 0, np.minimum(stored, slots + 1))
        return cls(indices, starts, ends, slots, real)


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


class _Group:
    """The parts of one row group, in order of their places.

    Args:
        documents: all documents, each of which is asked for once.
        parts: all parts.
        numbers: which parts the group holds.
    """

    def __init__(self, documents: Sequence[Document], parts: _Parts, numbers: Sequence[int]) -> None:
        self._documents = [documents[parts.document[number]] for number in numbers]
        self._starts = [parts.start[number] for number in numbers]
        self._ends = [parts.end[number] for number in numbers]

    def tokens(self, stored: Sequence[int], pad_id: int) -> Iterator[IntArray]:
        """Tokens of each part, cut or followed by padding to its ``stored`` length."""
        padding = np.full(max(stored), pad_id, dtype=np.int64)
        for document, start, end, size in zip(self._documents, self._starts, self._ends, stored, strict=True):
            yield document.tokens[start : min(end, start + size)]
            if size > end - start:
                yield padding[: size - (end - start)]

    def loss_mask(self, begins: Sequence[int], real: Sequence[int], size: int) -> NDArray[np.int8]:
        """Loss mask (size,) of parts that begin at ``begins``: 1 where the next token is real, and a target."""
        mask = np.zeros(size, dtype=np.int8)
        for document, start, begin, n_real in zip(self._documents, self._starts, begins, real, strict=True):
            end = begin + max(n_real - 1, 0)
            if document.loss_mask is not None:
                mask[begin:end] = document.loss_mask[start + 1 : start + n_real].astype(np.bool_)
            else:
                mask[begin + max((document.answer_start or 0) - start - 1, 0) : end] = 1
        return mask


def _row_groups(
    documents: Sequence[Document], parts: _Parts, bins: FlatBins, order: IntArray, pad_id: int
) -> Iterator[RowGroup]:
    """The rows of ``bins``, a row group at a time."""
    stored = parts.slots[order] + 1
    real = parts.real[order]
    n_rows = bins.bounds.size - 1
    for first in range(0, n_rows, ROWS_PER_GROUP):
        document_bounds = bins.bounds[first : min(first + ROWS_PER_GROUP, n_rows) + 1]
        places = slice(int(document_bounds[0]), int(document_bounds[-1]))
        document_bounds = document_bounds - document_bounds[0]
        ends = np.cumsum(stored[places])
        begins = ends - stored[places]
        token_bounds = np.append(begins, ends[-1])[document_bounds]
        group = _Group(documents, parts, order[places].tolist())
        tokens = np.concatenate(list(group.tokens(stored[places].tolist(), pad_id)))
        yield RowGroup(
            tokens=tokens.astype(np.int64, copy=False),
            loss_mask=group.loss_mask(begins.tolist(), real[places].tolist(), tokens.size),
            token_bounds=token_bounds,
            starts=begins - np.repeat(token_bounds[:-1], np.diff(document_bounds)),
            valid=real[places],
            document_bounds=document_bounds,
        )

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
    """n parts of documents, and their lengths.

    Attributes:
        document: (n,) int64, index of the document of each.
        start, end: (n,) int64, stored tokens of the document that belong to it.
        answer: (n,) int64, first answer token of the document; any where it has a loss mask instead.
        slots: (n,) int64, runtime length with padding.
        real: (n,) int64, stored tokens without padding.
    """

    document: IntArray
    start: IntArray
    end: IntArray
    answer: IntArray
    slots: IntArray
    real: IntArray

    @classmethod
    def of(cls, documents: Sequence[Document], spec: PackSpec) -> _Parts:
        """Check every document and measure its parts.

        Raises:
            PackingError: a document contradicts itself, does not say what is trained, or as ``parts_of``.
        """
        measured: list[int] = []
        for (index, start, end), document in parts_with_documents(documents, spec):
            check_document(document)
            answer = document.answer_start if document.loss_mask is None else 0
            if answer is None:
                raise PackingError("loss_mask", None, "must be given, or answer_start, to tell what is trained")
            measured += (index, start, end, answer, real_length(document) - start)
        table: IntArray = np.array(measured, dtype=np.int64).reshape(-1, 5)
        indices, starts, ends, answers, reals = (table[:, column] for column in range(5))
        stored = ends - starts
        step = spec.pad_multiple or 1
        limit = length_limit(longest_allowed(spec), spec.pad_multiple)
        slots = np.minimum(-(-(stored - 1) // step) * step, limit)
        real = np.clip(reals, 0, np.minimum(stored, slots + 1))
        return cls(indices, starts, ends, answers, slots, real)


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

    def __init__(self, documents: Sequence[Document], parts: _Parts, numbers: IntArray) -> None:
        indices: list[int] = parts.document[numbers].tolist()
        self._documents = [documents[index] for index in indices]
        self._starts = parts.start[numbers]
        self._ends = parts.end[numbers]
        self._answers = parts.answer[numbers]

    def tokens(self, stored: IntArray, pad_id: int) -> IntArray:
        """Tokens of all parts, each cut or followed by padding to its ``stored`` length."""
        ends = np.minimum(self._ends, self._starts + stored)
        bounds: zip[tuple[int, int]] = zip(self._starts.tolist(), ends.tolist(), strict=True)
        pieces = [document.tokens[start:end] for document, (start, end) in zip(self._documents, bounds, strict=True)]
        missing = stored - (ends - self._starts)
        if missing.any():
            padding = np.full(missing.max(), pad_id, dtype=np.int64)
            pieces = [
                piece for pair in zip(pieces, (padding[:size] for size in missing), strict=True) for piece in pair
            ]
        return np.concatenate(pieces).astype(np.int64, copy=False)

    def loss_mask(self, begins: IntArray, real: IntArray, size: int) -> NDArray[np.int8]:
        """Loss mask (size,) of parts that begin at ``begins``: 1 where the next token is real, and a target."""
        ends = begins + np.maximum(real - 1, 0)
        firsts = np.minimum(begins + np.maximum(self._answers - self._starts - 1, 0), ends)
        edges = np.zeros(size + 1, dtype=np.int8)  # 1 where a run of targets begins, -1 behind its end
        np.add.at(edges, firsts, 1)
        np.add.at(edges, ends, -1)
        mask = np.cumsum(edges[:-1], dtype=np.int8)
        for document, start, begin, end in zip(self._documents, self._starts, begins, ends, strict=True):
            if document.loss_mask is not None:
                mask[begin:end] = document.loss_mask[start + 1 : start + 1 + end - begin].astype(np.bool_)
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
        group = _Group(documents, parts, order[places])
        tokens = group.tokens(stored[places], pad_id)
        yield RowGroup(
            tokens=tokens,
            loss_mask=group.loss_mask(begins, real[places], tokens.size),
            token_bounds=token_bounds,
            starts=begins - np.repeat(token_bounds[:-1], np.diff(document_bounds)),
            valid=real[places],
            document_bounds=document_bounds,
        )

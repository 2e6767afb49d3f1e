"""What laws read from documents, rows and batches, in comparable form.

A law then says one sentence: ``same(segments_of(row), ..., "every document is stored whole")``.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from properties.claims import Broken, holds, is_deliberate, same
from reference_impl.batches import AnyArray, CollateSpec, ThdBatch
from reference_impl.documents import (
    BoolArray,
    Document,
    IntArray,
    PackedDataset,
    PackedRow,
    PackingMetadata,
    PackSpec,
)
from reference_impl.errors import Inexpressible, NotSupported
from reference_impl.interface import Implementation

Tokens = tuple[int, ...]
Pair = tuple[int, int]
"""An input token and the target that is trained on."""


# Documents -----------------------------------------------------------------------------------------------------------


def runtime(document: Document) -> int:
    """Slots that a document fills: -1 when it has no token at all."""
    return len(document.tokens) - 1


def lengths_of(documents: Iterable[Document]) -> IntArray:
    """Runtime lengths (n,)."""
    return np.asarray([runtime(document) for document in documents], dtype=np.int64)


def ceil_to(length: int, multiple: int) -> int:
    """The next multiple that is not below ``length``."""
    return -(-length // multiple) * multiple


def trainable(document: Document) -> BoolArray:
    """Which stored tokens (L,) are trainable targets; padding never is."""
    stored = len(document.tokens)
    if document.loss_mask is not None:
        mask = np.asarray(document.loss_mask, dtype=bool)
    else:
        mask = np.arange(stored) >= (stored if document.answer_start is None else document.answer_start)
    return mask & (np.arange(len(mask)) < (stored if document.valid is None else document.valid))


def trained_pairs(documents: Iterable[Document]) -> Counter[Pair]:
    """Every (input token, target) that the documents want trained, with its number."""
    return Counter(pair for document in documents for pair in _pairs(document))


def _pairs(document: Document) -> Iterator[Pair]:
    wanted = trainable(document)
    for position in range(1, len(document.tokens)):
        if wanted[position]:
            yield int(document.tokens[position - 1]), int(document.tokens[position])


# Rows ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, order=True)
class Segment:
    """One document inside a row.

    Attributes:
        tokens: stored tokens.
        trained: for each runtime slot, whether the token after it is trained on.
    """

    tokens: Tokens
    trained: tuple[bool, ...]


def segment_of(document: Document) -> Segment:
    """A document as a row must store it."""
    return Segment(tokens_of(document), tuple(trainable(document)[1:].tolist()))


def tokens_of(document: Document) -> Tokens:
    """Stored tokens of a document."""
    return tuple(document.tokens.tolist())


def segments_of(row: PackedRow) -> tuple[Segment, ...]:
    """Segments of a row in order. The last mask entry of each has no target and is not read."""
    starts = row.starts.tolist()
    ends = [*starts[1:], len(row.tokens)]
    return tuple(
        Segment(
            tuple(row.tokens[start:end].tolist()), tuple(bool(weight) for weight in row.loss_mask[start : end - 1])
        )
        for start, end in zip(starts, ends, strict=True)
    )


def segments_in(rows: Iterable[PackedRow]) -> list[Segment]:
    """Segments of all rows, sorted."""
    return sorted(segment for row in rows for segment in segments_of(row))


def bins_of(rows: Iterable[PackedRow]) -> tuple[tuple[int, ...], ...]:
    """Runtime lengths of the segments, row by row."""
    return tuple(tuple(len(segment.tokens) - 1 for segment in segments_of(row)) for row in rows)


def load(row: PackedRow) -> int:
    """Runtime slots of a row."""
    return len(row.tokens) - len(row.starts)


def matched(documents: Sequence[Document], rows: Sequence[PackedRow]) -> list[tuple[Document, Segment]]:
    """Each document with its segment, which may be longer by padding.

    Documents and segments are paired in the order of their tokens; padding behind different documents does not change
    that order.

    Raises:
        Broken: there are more segments than documents, or fewer.
    """
    segments = segments_in(rows)
    sentence = "there is one segment for every document"
    holds(len(segments) == len(documents), sentence, got=len(segments), expected=len(documents))
    return list(zip(sorted(documents, key=tokens_of), segments, strict=True))


def batch_width(rows: Iterable[PackedRow], spec: CollateSpec) -> int:
    """Slots of every batch that is collated from rows: the full width, or what the longest row needs."""
    if spec.pad_to_width:
        return spec.width
    return min(spec.width, ceil_to(max(load(row) for row in rows), spec.width_multiple))


def metadata_of(bins: Sequence[Sequence[int]], capacity: int) -> PackingMetadata:
    """Statistics of bins of runtime lengths, as their definitions say."""
    loads = [sum(lengths) for lengths in bins]
    documents = sum(len(lengths) for lengths in bins)
    return PackingMetadata(
        dataset_max_seqlen=max(length for lengths in bins for length in lengths),
        max_samples_per_bin=max(len(lengths) for lengths in bins),
        packing_factor=round(documents / len(bins), 2),
        packing_efficiency=round(100 * sum(loads) / len(loads) / capacity, 2),
        pack_size=capacity,
        min_packed_seqlen=min(loads),
    )


# Batches -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Stream:
    """What a batch of one row holds in front of its tail, T' slots and n documents.

    Attributes:
        tokens, labels, position_ids: (T') int64.
        weights: (T') bool, the stored mask of every slot.
        starts: (n,) int64, first slot of each document.
        lengths: (n,) int64, slots of each document.
        valid: (n,) int64, slots of each document without its alignment padding.
    """

    tokens: IntArray
    labels: IntArray
    position_ids: IntArray
    weights: BoolArray
    starts: IntArray
    lengths: IntArray
    valid: IntArray

    @property
    def slots(self) -> int:
        """Slots in front of the tail."""
        return len(self.tokens)

    @property
    def real(self) -> BoolArray:
        """Which slots (T') are not alignment padding."""
        return np.asarray(self.position_ids < np.repeat(self.valid, self.lengths), dtype=np.bool_)


def stream_of(row: PackedRow) -> Stream:
    """Runtime slots of a row: every document's input without its last token, labels without its first."""
    bounds = [*row.starts.tolist(), len(row.tokens)]
    spans = list(pairwise(bounds))
    lengths = np.asarray([end - start - 1 for start, end in spans], dtype=np.int64)
    starts = np.cumsum(lengths) - lengths
    return Stream(
        tokens=np.concatenate([row.tokens[start : end - 1] for start, end in spans]),
        labels=np.concatenate([row.tokens[start + 1 : end] for start, end in spans]),
        position_ids=np.arange(int(lengths.sum())) - np.repeat(starts, lengths),
        weights=np.concatenate([row.loss_mask[start : end - 1] for start, end in spans]),
        starts=starts,
        lengths=lengths,
        valid=lengths if row.valid is None else np.maximum(row.valid - 1, 0),
    )


def labels_of(batch: ThdBatch) -> IntArray:
    """Labels of a batch.

    Raises:
        Broken: it has none.
    """
    holds(batch.labels is not None, "a collated batch has labels")
    return np.asarray(batch.labels, dtype=np.int64)


def weights_of(batch: ThdBatch) -> NDArray[np.float64]:
    """Loss weights of a batch.

    Raises:
        Broken: it has none.
    """
    holds(batch.loss_mask is not None, "a collated batch has a loss mask")
    return np.asarray(batch.loss_mask, dtype=np.float64)


def pairs_in(batches: Iterable[ThdBatch]) -> Counter[Pair]:
    """Every (input token, target) that batches train on, with its number."""
    found: Counter[Pair] = Counter()
    for batch in batches:
        trained = weights_of(batch) > 0
        found.update(zip(batch.tokens[trained].tolist(), labels_of(batch)[trained].tolist(), strict=True))
    return found


def boundary_arrays(batch: ThdBatch) -> dict[str, AnyArray]:
    """Boundary arrays of a batch by name: the target's own where it shows them, else those of the layout."""
    own = {name: array for name, array in batch.raw.items() if name.startswith("cu_seqlens") and "argmin" not in name}
    return own or {"cu_seqlens": batch.layout.valid, "cu_seqlens_padded": batch.layout.padded}


# Claims that several modules of laws make ----------------------------------------------------------------------------


def keeps_every_document(documents: Sequence[Document], rows: Sequence[PackedRow], spec: PackSpec) -> None:
    """Claim that the documents are there, each whole and exactly once, followed by nothing but padding."""
    for document, segment in matched(documents, rows):
        whole = tokens_of(document)
        same(segment.tokens[: len(whole)], whole, "every document is there whole, once")
        padding = segment.tokens[len(whole) :]
        holds(set(padding) <= {spec.pad_id}, "nothing but padding follows a document", got=segment.tokens)
        holds(spec.pad_multiple not in (1, None) or not padding, "no padding is added unasked", got=segment.tokens)


def fits_the_capacity(rows: Sequence[PackedRow], spec: PackSpec) -> None:
    """Claim that no row fills more slots than the capacity."""
    widest = max((load(row) for row in rows), default=0)
    holds(widest <= spec.capacity, f"no row fills more than {spec.capacity} slots", got=widest)


def pads_to_multiples(rows: Sequence[PackedRow], spec: PackSpec) -> None:
    """Claim that every segment's runtime length is a multiple of what documents are padded to."""
    lengths = [length for lengths_of_row in bins_of(rows) for length in lengths_of_row]
    aligned = [length % (spec.pad_multiple or 1) == 0 for length in lengths]
    holds(all(aligned), f"every runtime length is a multiple of {spec.pad_multiple}", got=lengths)


def is_part(piece: tuple[int, ...], whole: tuple[int, ...]) -> bool:
    """Whether ``piece`` is what some way of truncating leaves of ``whole``: tokens of it in their order."""
    rest = iter(whole)
    return all(token in rest for token in piece)


def packed_at_all(implementation: Implementation, documents: Sequence[Document], spec: PackSpec) -> PackedDataset:
    """The packs; where there are none, nothing is claimed of them (that there are some is the claim of PCK-002)."""
    try:
        return implementation.pack_documents(documents, spec)
    except NotSupported:
        raise
    except Exception as error:
        raise Inexpressible("the target packs none of these documents") from error


def packed_or_refused(
    implementation: Implementation, documents: Sequence[Document], spec: PackSpec
) -> PackedDataset | None:
    """The packs, or None when the target refuses the documents on purpose."""
    try:
        return implementation.pack_documents(documents, spec)
    except NotSupported:
        raise
    except Exception as error:
        if is_deliberate(error):
            return None
        raise Broken("documents are packed, or refused on purpose", got=error) from error


def stored(rows: Sequence[PackedRow]) -> list[tuple[list[int], list[bool], list[int]]]:
    """Rows as a file holds them, comparable."""
    return [(row.tokens.tolist(), [bool(w) for w in row.loss_mask], row.starts.tolist()) for row in rows]


def holds_the_documents(implementation: Implementation, rows: Sequence[PackedRow], spec: CollateSpec) -> None:
    """Claim that batches hold the documents of their rows, inputs and labels shifted by one."""
    for row, batch in collated(implementation, rows, spec):
        stream = stream_of(row)
        same(batch.tokens[: stream.slots], stream.tokens, "the input is every document without its last token")
        same(labels_of(batch)[: stream.slots], stream.labels, "every label is the next token of the same document")


def separates_the_documents(implementation: Implementation, rows: Sequence[PackedRow], spec: CollateSpec) -> None:
    """Claim that every document begins a segment, and that there is at most one more, the tail."""
    for row, batch in collated(implementation, rows, spec):
        stream = stream_of(row)
        n, bounds = len(stream.starts), batch.layout.padded
        same(bounds[:n], stream.starts, "every document begins a segment")
        holds(len(bounds) > n, "the last document's segment has an end", got=bounds)
        same(int(bounds[-1]), len(batch.tokens), "the last boundary is the number of slots")
        allowed = {stream.slots, len(batch.tokens)}
        holds(set(bounds[n:].tolist()) <= allowed, "behind the documents there is only the tail", got=bounds)
        holds((np.diff(bounds) >= 0).all(), "boundaries never decrease", got=bounds)


def collated(
    implementation: Implementation, rows: Sequence[PackedRow], spec: CollateSpec
) -> list[tuple[PackedRow, ThdBatch]]:
    """Each row with its batch."""
    batches = implementation.collate(rows, range(len(rows)), spec)
    holds(len(batches) == len(rows), "there is one batch for each sample", got=len(batches), expected=len(rows))
    return list(zip(rows, batches, strict=True))


# The process ---------------------------------------------------------------------------------------------------------


@contextmanager
def ambient_random(seed: int) -> Generator[None]:
    """Put NumPy's and Python's global random state where some earlier work may have left it; restore it afterwards."""
    numpy_state, python_state = np.random.get_state(), random.getstate()  # noqa: NPY002 - the global state is the point
    np.random.seed(seed)  # noqa: NPY002
    random.seed(seed)
    try:
        yield
    finally:
        np.random.set_state(numpy_state)  # noqa: NPY002
        random.setstate(python_state)


def random_state() -> object:
    """NumPy's and Python's global random state, comparable."""
    state = np.random.get_state(legacy=False)["state"]  # noqa: NPY002
    return state["key"].tobytes(), state["pos"], random.getstate()

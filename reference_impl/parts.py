"""Which parts of the documents are packed, and what became of each: policies for overlong documents, and the ledger.

    policy for a document of 8 slots where 3 are allowed        stored tokens packed
    truncate                                                    0 1 2 3
    split                                                       0 1 2 3 | 3 4 5 6 | 6 7 8
    drop                                                        none
    reject                                                      the whole data set is refused

A split document repeats one token at each cut, so that every pair of a token and its target is trained exactly once:
the first token of a part has no slot in front of it that could predict it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from reference_impl.documents import Document, Fate, LedgerEntry, Overlong, PackSpec
from reference_impl.errors import PackingError
from reference_impl.one_document import NO_TOKEN, length_limit, real_length, runtime_length, trainable

Places = tuple[tuple[int, ...], ...]
"""Documents by row, both in order: what ``Bins`` holds for lengths."""


class Part(NamedTuple):
    """Stored tokens of one document that are packed together.

    Attributes:
        document: index of the document.
        start, end: the stored tokens ``start`` to ``end - 1``.
    """

    document: int
    start: int
    end: int

    def of(self, document: Document) -> Document:
        """The part as a document of its own; a whole document is itself.

        Raises:
            PackingError: the document contradicts itself.
        """
        if (self.start, self.end) == (0, document.tokens.size):
            return document
        mask = trainable(document)
        return Document(
            tokens=document.tokens[self.start : self.end],
            loss_mask=None if mask is None else mask[self.start : self.end],
            valid=min(max(real_length(document) - self.start, 0), self.end - self.start),
        )


def longest_allowed(spec: PackSpec) -> int:
    """Longest runtime length before it is rounded down to the multiple.

    Raises:
        PackingError: the capacity is below 1.
    """
    if spec.capacity < 1:
        raise PackingError("capacity", spec.capacity, "must be at least 1")
    return min(spec.max_length, spec.capacity)


def parts_of(documents: Sequence[Document], spec: PackSpec) -> list[Part]:
    """What is packed of ``documents``, in order; raises as ``parts_with_documents``."""
    return [part for part, _ in parts_with_documents(documents, spec)]


def parts_with_documents(documents: Sequence[Document], spec: PackSpec) -> Iterator[tuple[Part, Document]]:
    """What is packed of each document, in order; a document without a token has no part.

    Truncation is left to ``pad_document``, which cuts what is too long.

    Raises:
        PackingError: nothing is left to pack, a document is overlong and the policy is to reject, no positive
            multiple fits, or ``overlong`` is no policy.
    """
    if spec.overlong not in tuple(Overlong):
        raise PackingError("overlong", spec.overlong, f"must be one of {', '.join(Overlong)}")
    limit = length_limit(longest_allowed(spec), spec.pad_multiple)
    nothing = True
    for index, document in enumerate(documents):
        length = runtime_length(document)
        if length == NO_TOKEN or (length > limit and spec.overlong == Overlong.DROP):
            continue
        if length <= limit or spec.overlong == Overlong.TRUNCATE:
            yield Part(index, 0, length + 1), document
        elif spec.overlong == Overlong.SPLIT:
            for start in range(0, length, limit):
                yield Part(index, start, min(start + limit, length) + 1), document
        else:
            raise PackingError(f"documents[{index}]", f"{length} slots", f"must not be longer than {limit} slots")
        nothing = False
    if nothing:
        raise PackingError("documents", len(documents), "must leave a document to pack")


def ledger_of(
    documents: Sequence[Document], parts: Sequence[Part], padded: Sequence[Document], places: Places
) -> tuple[LedgerEntry, ...]:
    """What became of every document, in the order of ``documents``.

    Args:
        documents: what was to be packed.
        parts: what was packed of them, in order of documents.
        padded: each part as it was packed.
        places: parts by row.
    """
    place_of = {part: (row, segment) for row, held in enumerate(places) for segment, part in enumerate(held)}
    found: list[list[int]] = [[] for _ in documents]
    for number, part in enumerate(parts):
        found[part.document].append(number)
    return tuple(
        _entry(index, document, [padded[number] for number in numbers], [place_of[number] for number in numbers])
        for index, (document, numbers) in enumerate(zip(documents, found, strict=True))
    )


def _entry(
    index: int, document: Document, padded: Sequence[Document], places: Sequence[tuple[int, int]]
) -> LedgerEntry:
    if not places:
        return LedgerEntry(index, Fate.DROPPED, None, None)
    (row, segment), *rest = places
    padding = sum(int(part.tokens.size) - real_length(part) for part in padded)
    if rest:
        return LedgerEntry(index, Fate.SPLIT, row, segment, padding, tuple(rest))
    is_whole = real_length(padded[0]) >= real_length(document)
    return LedgerEntry(index, Fate.KEPT if is_whole else Fate.TRUNCATED, row, segment, padding)

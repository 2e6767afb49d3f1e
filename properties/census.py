"""Which interesting kinds of input the laws are given, and which they never are.

A law cannot find what its strategies never draw. Each kind is a predicate on plain data, counted wherever that data
occurs in a law's inputs.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np

from properties.law import Inputs
from reference_impl.batches import Layout, PaddedBatch, Parallelism
from reference_impl.documents import Document, PackedRow, PackSpec
from reference_impl.thd import LARGEST_BOUNDARY


def _lengths(layout: Layout) -> Sequence[int]:
    return np.diff(layout.padded).tolist()


def _documents(inputs: Inputs) -> Sequence[Document]:
    return [value for value in values(inputs) if isinstance(value, Document)]


def _overlong(inputs: Inputs) -> int:
    specs = [value for value in values(inputs) if isinstance(value, PackSpec)]
    return sum(len(document.tokens) - 1 > spec.capacity for spec in specs[:1] for document in _documents(inputs))


def _any(kind: type, holds: Callable[[Any], object]) -> Callable[[Inputs], bool]:
    return lambda inputs: any(bool(holds(value)) for value in values(inputs) if isinstance(value, kind))


KINDS: Mapping[str, Callable[[Inputs], bool]] = {
    "stream without a segment": _any(Layout, lambda layout: len(layout.padded) == 1),
    "one segment": _any(Layout, lambda layout: len(layout.padded) == 2),
    "five or more segments": _any(Layout, lambda layout: len(layout.padded) > 5),
    "zero-length segment first": _any(Layout, lambda layout: _lengths(layout)[:1] == [0]),
    "zero-length segment last": _any(Layout, lambda layout: _lengths(layout)[-1:] == [0]),
    "zero-length segment between others": _any(Layout, lambda layout: 0 in _lengths(layout)[1:-1]),
    "three zero-length segments in a row": _any(
        Layout, lambda layout: "000" in "".join("0" if length == 0 else "1" for length in _lengths(layout))
    ),
    "segment of padding only": _any(
        Layout, lambda layout: bool(np.any((np.diff(layout.valid) == 0) & (np.diff(layout.padded) > 0)))
    ),
    "segment without padding beside one with": _any(
        Layout, lambda layout: len(set((np.diff(layout.valid) == np.diff(layout.padded)).tolist())) == 2
    ),
    "boundary beyond 32 bits": _any(Layout, lambda layout: int(layout.padded[-1]) > LARGEST_BOUNDARY),
    "no document": lambda inputs: _any(PackSpec, lambda _: True)(inputs) and not _documents(inputs),
    "document without a token": _any(Document, lambda document: not len(document.tokens)),
    "document of one token": _any(Document, lambda document: len(document.tokens) == 1),
    "document whose last token is repeated": _any(
        Document, lambda document: len(set(document.tokens[-2:].tolist())) == 1
    ),
    "document with nothing trained on": _any(
        Document, lambda document: document.loss_mask is not None and not document.loss_mask.any()
    ),
    "one document longer than a pack": lambda inputs: _overlong(inputs) == 1,
    "two documents longer than a pack": lambda inputs: _overlong(inputs) >= 2,
    "documents of equal length": lambda inputs: _repeats([len(document.tokens) for document in _documents(inputs)]),
    "row of one document": _any(PackedRow, lambda row: len(row.starts) == 1),
    "row of four or more documents": _any(PackedRow, lambda row: len(row.starts) >= 4),
    "row with nothing trained on": _any(PackedRow, lambda row: not row.loss_mask.any()),
    "row without a real token": _any(
        PaddedBatch, lambda batch: batch.padding_mask is not None and not batch.padding_mask.any(axis=1).all()
    ),
    "row without padding": _any(
        PaddedBatch, lambda batch: batch.padding_mask is not None and batch.padding_mask.all(axis=1).any()
    ),
    "padding on the left": _any(
        PaddedBatch,
        lambda batch: batch.padding_mask is not None
        and bool((batch.padding_mask[:, :1] < batch.padding_mask[:, -1:]).any()),
    ),
    "sequence parallelism": _any(Parallelism, lambda parallelism: parallelism.sequence_parallel),
    "eight or more context-parallel ranks": lambda inputs: _number(inputs, "world") >= 8,
    "bin filled exactly": lambda inputs: _number(inputs, "capacity") in _array(inputs, "lengths"),
    "length above the capacity": lambda inputs: any(
        length > _number(inputs, "capacity") > 0 for length in _array(inputs, "lengths")
    ),
    "length of zero": lambda inputs: 0 in _array(inputs, "lengths"),
}
"""Kinds of input by name; each is told from all inputs of one example."""


def census(inputs: Sequence[Inputs]) -> Counter[str]:
    """How many examples are of each kind."""
    return Counter(name for example in inputs for name, holds in KINDS.items() if holds(example))


def values(value: object) -> Iterator[object]:
    """A value and everything inside it: mappings, sequences and dataclasses are opened, arrays are not."""
    yield value
    if isinstance(value, Mapping):
        for item in cast("Mapping[object, object]", value).values():
            yield from values(item)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from values(getattr(value, field.name))
    elif isinstance(value, list | tuple):
        for item in cast("Sequence[object]", value):
            yield from values(item)


def _repeats(lengths: Sequence[int]) -> bool:
    return len(set(lengths)) < len(lengths)


def _number(inputs: Inputs, name: str) -> int:
    value = inputs.get(name)
    return value if isinstance(value, int) else -1


def _array(inputs: Inputs, name: str) -> Sequence[int]:
    value = inputs.get(name)
    if isinstance(value, np.ndarray):
        return cast("np.ndarray[Any, Any]", value).tolist()
    return cast("Sequence[int]", value) if isinstance(value, list | tuple) else ()

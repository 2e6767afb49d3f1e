"""Interesting kinds of input are told apart."""

from __future__ import annotations

import numpy as np
import pytest

from properties.census import census
from properties.segments import layout_of
from reference_impl.batches import PaddedBatch
from reference_impl.documents import Document, PackSpec


def of(**inputs: object) -> set[str]:
    return set(census([inputs]))


def documents(*lengths: int) -> list[Document]:
    return [Document(np.arange(1, length + 1)) for length in lengths]


@pytest.mark.parametrize(
    ("slots", "kind"),
    [
        ((0, 4), "zero-length segment first"),
        ((4, 0), "zero-length segment last"),
        ((4, 0, 4), "zero-length segment between others"),
        ((4, 0, 0, 0, 4), "three zero-length segments in a row"),
        ((2**31, 4), "boundary beyond 32 bits"),
        ((), "stream without a segment"),
    ],
)
def test_kinds_of_streams_are_told_apart(slots: tuple[int, ...], kind: str) -> None:
    assert kind in of(layout=layout_of(slots))
    assert kind not in of(layout=layout_of((4, 8)))


def test_documents_longer_than_a_pack_are_counted() -> None:
    spec = PackSpec(capacity=4)
    assert "two documents longer than a pack" in of(documents=documents(6, 9, 2), spec=spec)
    assert "one document longer than a pack" in of(documents=documents(6, 5), spec=spec)
    assert not of(documents=documents(5, 4), spec=spec) & {"one document longer than a pack", "no document"}


def test_left_padding_is_told_from_right_padding() -> None:
    tokens = np.ones((1, 3), dtype=np.int64)
    left, right = np.array([[False, True, True]]), np.array([[True, True, False]])
    assert "padding on the left" in of(batch=PaddedBatch(tokens, None, None, tokens, left))
    assert "padding on the left" not in of(batch=PaddedBatch(tokens, None, None, tokens, right))

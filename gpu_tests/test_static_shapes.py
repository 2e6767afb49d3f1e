"""With static boundaries every metadata array has one shape for all batches, so that a CUDA graph is captured once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import Tensor

from conformance.targets.loading import load
from gpu_tests.levels import Level, assert_equal
from gpu_tests.parallel.dense import dense_attention
from properties.segments import is_padding
from reference_impl.attention import attention
from reference_impl.batches import CollateSpec, ThdBatch
from reference_impl.documents import Document, PackSpec
from reference_impl.interface import Implementation

pytestmark = [pytest.mark.suite("static-shapes"), pytest.mark.one_gpu]

BATCHES = 100
WIDTH = 64
HEADS, HEAD_SIZE = 2, 8


@pytest.fixture(scope="module")
def implementation(target: str) -> Implementation:
    """What ``--target`` names, in this process."""
    return load(target)


def test_static_boundaries_keep_one_shape_over_all_batches(implementation: Implementation) -> None:
    """However many documents a row holds."""
    drawn = _batches(implementation, static=True)
    assert len({len(batch.layout.padded) for batch in drawn}) > 3, "the rows should differ in their documents"
    for name in drawn[0].raw:
        shapes = {np.shape(batch.raw[name]) for batch in drawn}
        assert len(shapes) == 1, f"{name} has {len(shapes)} shapes: {sorted(shapes)}"


def test_without_static_boundaries_a_graph_would_be_captured_again_and_again(implementation: Implementation) -> None:
    """A control: shapes vary, and each is a capture."""
    drawn = _batches(implementation, static=False)
    assert len({np.shape(batch.raw["cu_seqlens"]) for batch in drawn}) > 3


def test_attention_from_static_metadata_equals_the_oracle(implementation: Implementation) -> None:
    """Sentinels or repeats behind the last boundary own no slot: what is to be captured computes the right thing."""
    for batch in _batches(implementation, static=True)[:10]:
        values = _values(batch, "cpu")
        boundaries, length = _metadata(batch, "cpu")
        real = ~torch.from_numpy(is_padding(batch.layout))
        got = _from_metadata(*values, boundaries, length)
        torch.testing.assert_close(got[real], attention(*values, batch.layout)[real])


@pytest.mark.suite("cuda-graphs")
def test_one_capture_serves_all_batches(implementation: Implementation) -> None:
    """Captured once, replayed on each batch with its own metadata: bitwise what eager execution gives."""
    drawn = _batches(implementation, static=True)
    q, k, v = _values(drawn[0], "cuda")
    boundaries, length = _metadata(drawn[0], "cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):  # kernels must have run once before they are captured
        _from_metadata(q, k, v, boundaries, length)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = _from_metadata(q, k, v, boundaries, length)
    for batch in drawn:
        fresh, (its_boundaries, its_length) = _values(batch, "cuda"), _metadata(batch, "cuda")
        for static, value in zip((q, k, v, boundaries, length), (*fresh, its_boundaries, its_length), strict=True):
            static.copy_(value)
        graph.replay()
        assert_equal("replayed", out, _from_metadata(*fresh, its_boundaries, its_length), Level.BITWISE)


def _batches(implementation: Implementation, *, static: bool) -> list[ThdBatch]:
    """One batch per row of packs of random documents."""
    random = np.random.RandomState(0)
    documents = [
        Document(random.randint(1, 50, size=length + 1), loss_mask=np.ones(length + 1, dtype=np.bool_))
        for length in random.randint(1, 24, size=BATCHES * 8)
    ]
    packed = implementation.pack_documents(documents, PackSpec(capacity=WIDTH, pad_multiple=4))
    assert packed.metadata is not None
    how = CollateSpec(
        width=WIDTH, document_multiple=4, static_boundaries=static, metadata=(packed.metadata,), pad_to_width=True
    )
    rows = packed.rows[:BATCHES]
    assert len(rows) == BATCHES
    return list(implementation.collate(rows, range(BATCHES), how))


def _metadata(batch: ThdBatch, device: str) -> tuple[Tensor, Tensor]:
    """Slot boundaries of one shape for all batches, and the valid length of each of their segments."""
    slots = _filled(batch.raw["cu_seqlens"], WIDTH)
    valid = _filled(batch.raw.get("cu_seqlens_unpadded", batch.raw["cu_seqlens"]), int(batch.layout.valid[-1]))
    return torch.from_numpy(slots).to(device), torch.from_numpy(np.diff(valid)).to(device)


def _filled(boundaries: Sequence[int] | np.ndarray, end: int) -> np.ndarray:
    """Boundaries with -1 sentinels replaced by the end, which makes segments of no slot of them."""
    flat = np.asarray(boundaries).reshape(-1).astype(np.int64)
    return np.where(flat < 0, end, flat)


def _values(batch: ThdBatch, device: str) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values (T, H, D) that depend on the tokens."""
    generator = torch.Generator().manual_seed(1)
    tables = torch.randn(3, 64, HEADS, HEAD_SIZE, generator=generator)
    tokens = torch.from_numpy(batch.tokens).clamp(min=0)
    q, k, v = (table[tokens].to(device) for table in tables)
    return q, k, v


def _from_metadata(q: Tensor, k: Tensor, v: Tensor, boundaries: Tensor, lengths: Tensor) -> Tensor:
    """Causal attention from boundary tensors alone, without waiting for the device."""
    slot = torch.arange(q.shape[0], device=q.device)
    segment = torch.searchsorted(boundaries, slot, right=True) - 1
    inside = segment.clamp(max=len(lengths) - 1)
    offset = slot - boundaries[inside]
    real = (segment < len(lengths)) & (offset < lengths[inside])
    same = segment[:, None] == segment[None, :]
    visible = same & real[None, :] & (offset[None, :] <= offset[:, None])
    return dense_attention(q, k, v, visible)

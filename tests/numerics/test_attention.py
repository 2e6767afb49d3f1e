"""Packed attention: the oracle by hand, three ways to share it among ranks, and nothing leaks."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch
from torch import Tensor

from reference_impl.attention import (
    Partial,
    all_gather_attention,
    all_to_all_attention,
    attend,
    attention,
    merge,
    ring_attention,
)
from reference_impl.batches import Layout
from reference_impl.errors import PackingError
from reference_impl.leaks import PADDING, Leak, leaks

SHARED = [ring_attention, all_gather_attention, all_to_all_attention]
TOLERANCE = 1e-10
"""Required of float64; sums of at most 48 terms of order 1 differ by about 1e-14 when they are ordered differently."""


def layout(padded: list[int], valid: list[int] | None = None) -> Layout:
    return Layout(np.array(padded if valid is None else valid), np.array(padded))


LAYOUTS = {
    "full": lambda chunk: layout([0, 2 * chunk, 6 * chunk]),
    "padded inside": lambda chunk: layout([0, 4 * chunk, 8 * chunk], [0, 3 * chunk - 1, 7 * chunk - 1]),
    "padded at the end only": lambda chunk: layout([0, 2 * chunk, 6 * chunk], [0, 2 * chunk, 6 * chunk - 1]),
    "one valid token, none, and a segment of no slot": lambda chunk: layout(
        [0, 2 * chunk, 2 * chunk, 4 * chunk, 6 * chunk], [0, 1, 1, 1, 2 * chunk + 1]
    ),
    "a segment of no slot": lambda chunk: layout([0, 0 * chunk]),
    "no segment": lambda chunk: layout([0 * chunk]),
}


def heads(
    stream: Layout, query_heads: int = 4, key_heads: int = 4, size: int = 3, value_size: int = 2
) -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    total = int(stream.padded[-1])
    shapes = [(total, query_heads, size), (total, key_heads, size), (total, key_heads, value_size)]
    return [torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_() for shape in shapes]


def forward_and_backward(function: Callable[..., Tensor], inputs: list[Tensor]) -> list[Tensor]:
    out = function(*inputs)
    generator = torch.Generator().manual_seed(1)
    weights = torch.randn(out.shape, generator=generator, dtype=out.dtype)
    return [out, *torch.autograd.grad(out, inputs, weights, materialize_grads=True)]


def assert_equal(got: list[Tensor], expected: list[Tensor]) -> None:
    for one, other in zip(got, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=TOLERANCE)


def by_mask(q: Tensor, k: Tensor, v: Tensor, stream: Layout, *, causal: bool) -> Tensor:
    """Attention with one T x T mask and torch's own kernel: written in another way than the oracle."""
    slots, valid = np.diff(stream.padded), np.diff(stream.valid)
    segment = torch.as_tensor(np.repeat(np.arange(slots.size), slots))
    position = torch.as_tensor(np.concatenate([np.arange(size) for size in slots] or [np.arange(0)]))
    real = position < torch.as_tensor(valid)[segment]
    seen = (segment[:, None] == segment) & real[:, None] & real
    if causal:
        seen &= position[:, None] >= position
    group = q.shape[1] // k.shape[1]
    out = torch.nn.functional.scaled_dot_product_attention(
        q.transpose(0, 1),
        k.repeat_interleave(group, 1).transpose(0, 1),
        v.repeat_interleave(group, 1).transpose(0, 1),
        attn_mask=seen | torch.eye(len(segment), dtype=torch.bool),
    )
    return torch.where(real[:, None, None], out.transpose(0, 1), 0.0)


# The oracle ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("key_heads", [4, 2, 1])
def test_oracle_equals_torch_with_a_block_diagonal_mask(name: str, key_heads: int, causal: bool) -> None:
    stream = LAYOUTS[name](2)
    inputs = heads(stream, key_heads=key_heads)
    got = forward_and_backward(partial(attention, layout=stream, causal=causal), inputs)
    assert_equal(got, forward_and_backward(partial(by_mask, stream=stream, causal=causal), inputs))


def test_first_token_of_a_document_sees_itself_only() -> None:
    stream = layout([0, 4, 8], [0, 3, 6])
    q, k, v = heads(stream)
    out = attention(q, k, v, stream)
    assert torch.equal(out[[0, 4]], v[[0, 4]])
    assert torch.equal(out[[3, 7]], torch.zeros(2, 4, 2, dtype=torch.float64))


def test_scale_of_zero_averages_what_is_seen() -> None:
    stream = layout([0, 4])
    q, k, v = heads(stream)
    out = attention(q, k, v, stream, scale=0.0)
    torch.testing.assert_close(out[3], v.mean(dim=0))
    torch.testing.assert_close(out[1], v[:2].mean(dim=0))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("function", [attention, *(partial(shared, world=2) for shared in SHARED)])
def test_every_floating_dtype_is_kept(function: Callable[..., Tensor], dtype: torch.dtype) -> None:
    stream = layout([0, 4, 12], [0, 3, 10])
    exact = attention(*heads(stream), stream)
    out = function(*(tensor.to(dtype) for tensor in heads(stream)), layout=stream)
    assert out.dtype == dtype
    resolution = torch.finfo(dtype).eps
    torch.testing.assert_close(out.double(), exact, rtol=0, atol=16 * resolution)  # about ten roundings of order 1


@pytest.mark.parametrize("function", [attention, *(partial(shared, world=2) for shared in SHARED)])
def test_any_device_is_kept(function: Callable[..., Tensor]) -> None:
    """This one holds no numbers, and takes none from the CPU."""
    stream = layout([0, 4, 12], [0, 3, 10])
    out = function(*(tensor.to("meta") for tensor in heads(stream)), layout=stream)
    assert out.device.type == "meta"


# Shared among ranks --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("world", [1, 2, 4])
@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("shared", SHARED)
def test_shared_attention_equals_the_oracle(
    shared: Callable[..., Tensor], name: str, world: int, causal: bool
) -> None:
    stream = LAYOUTS[name](2 * world)
    inputs = heads(stream)
    expected = forward_and_backward(partial(attention, layout=stream, causal=causal), inputs)
    got = forward_and_backward(partial(shared, layout=stream, world=world, causal=causal), inputs)
    assert_equal(got, expected)


@pytest.mark.parametrize("shared", SHARED)
def test_shared_grouped_query_attention_equals_the_oracle(shared: Callable[..., Tensor]) -> None:
    stream = layout([0, 4, 16], [0, 3, 13])
    inputs = heads(stream, key_heads=2)
    expected = forward_and_backward(partial(attention, layout=stream, scale=0.7), inputs)
    assert_equal(forward_and_backward(partial(shared, layout=stream, world=2, scale=0.7), inputs), expected)


@pytest.mark.parametrize("world", [3, 8])
@pytest.mark.parametrize("shared", [ring_attention, all_gather_attention])
def test_any_number_of_ranks_may_share(shared: Callable[..., Tensor], world: int) -> None:
    stream = layout([0, 2 * world, 6 * world], [0, world + 1, 5 * world - 1])
    inputs = heads(stream)
    expected = forward_and_backward(partial(attention, layout=stream), inputs)
    assert_equal(forward_and_backward(partial(shared, layout=stream, world=world), inputs), expected)


@pytest.mark.parametrize("shared", SHARED)
def test_single_rank_needs_no_even_length(shared: Callable[..., Tensor]) -> None:
    stream = layout([0, 3, 8, 9], [0, 3, 7, 8])
    inputs = heads(stream)
    assert_equal([shared(*inputs, stream, 1)], [attention(*inputs, stream)])


def test_merging_partial_results_does_not_depend_on_their_order() -> None:
    q, k, v = (tensor.transpose(0, 1) for tensor in heads(layout([0, 6])))
    parts = [attend(q, k[:, keys], v[:, keys], causal=False) for keys in (slice(0, 1), slice(1, 3), slice(3, 6))]
    whole = attend(q, k, v, causal=False)
    for first, second, third in ((0, 1, 2), (2, 0, 1), (1, 2, 0)):
        merged = merge(merge(parts[first], parts[second]), parts[third])
        assert_equal([merged.out_HQE, merged.lse_HQ], [whole.out_HQE, whole.lse_HQ])


def test_merging_survives_scores_beyond_the_range_of_exp() -> None:
    one, other = (
        Partial(torch.full((1, 1, 1), out, dtype=torch.float64), torch.full((1, 1), lse, dtype=torch.float64))
        for out, lse in ((1.0, 2048.0), (3.0, 2048.0))
    )
    assert_equal([merge(one, other).out_HQE], [torch.full((1, 1, 1), 2.0, dtype=torch.float64)])


def divided_boundaries(stream: Layout, world: int, rank: int) -> np.ndarray:
    del rank
    return stream.valid // world


def test_dividing_valid_lengths_by_the_number_of_ranks_is_wrong() -> None:
    """TE-03: the negative control of the ring's use of local boundaries."""
    stream = layout([0, 8, 16], [0, 6, 10])
    inputs = heads(stream)
    wrong = ring_attention(*inputs, stream, 2, local_boundaries=divided_boundaries)
    assert not torch.allclose(wrong, attention(*inputs, stream))


# Leaks ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("function", [attention, *(partial(shared, world=2) for shared in SHARED)])
def test_nothing_leaks_between_documents(function: Callable[..., Tensor], name: str) -> None:
    stream = LAYOUTS[name](4)
    assert leaks(partial(function, layout=stream), heads(stream), stream) == ()


def test_attention_without_boundaries_leaks() -> None:
    """The first document reaches outputs of the second, whose queries reach gradients of the first."""
    stream = layout([0, 4, 8])
    found = leaks(partial(attention, layout=layout([0, 8])), heads(stream), stream)
    assert Leak(0, 1, "output") in found
    assert Leak(1, 0, "gradient of input 1") in found
    assert Leak(1, 0, "output") not in found


def test_padded_boundaries_taken_for_valid_ones_leak_padding_without_a_causal_mask() -> None:
    """B31, ML-30: harmless under a causal mask, where padding stands behind every valid token."""
    stream, as_valid = layout([0, 4, 8], [0, 3, 6]), layout([0, 4, 8])
    assert leaks(partial(attention, layout=as_valid), heads(stream), stream) == ()
    found = leaks(partial(attention, layout=as_valid, causal=False), heads(stream), stream)
    assert {leak.source for leak in found} == {PADDING}
    assert Leak(PADDING, 1, "output") in found


# What is refused -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize(
    ("change", "shape"),
    [
        (lambda tensor: tensor[:7], r"\(7, 4, \d\)"),
        (lambda tensor: tensor[:, 0], r"\(8, \d\)"),
    ],
    ids=["length", "axes"],
)
def test_tensors_of_other_slots_are_refused(number: int, change: Callable[[Tensor], Tensor], shape: str) -> None:
    inputs = heads(layout([0, 8]))
    inputs[number] = change(inputs[number])
    name = ("q_THD", "k_TGD", "v_TGE")[number]
    with pytest.raises(PackingError, match=rf"^{name} = {shape}: must have three axes, the first of 8 slots$"):
        attention(*inputs, layout([0, 8]))


def test_heads_that_do_not_divide_are_refused() -> None:
    with pytest.raises(PackingError, match=r"^k_TGD = 3: must have a number of heads that divides 4$"):
        attention(*heads(layout([0, 8]), key_heads=3, size=2), layout([0, 8]))


@pytest.mark.parametrize("wrong", [{"k": (8, 4, 2)}, {"v": (8, 2, 2)}])
def test_keys_of_another_head_size_or_other_heads_than_values_are_refused(wrong: dict[str, tuple[int, ...]]) -> None:
    """The sentence shows all three shapes."""
    shapes = {"q": (8, 4, 3), "k": (8, 4, 3), "v": (8, 4, 2)} | wrong
    shown = re.escape(str(tuple(shapes.values())))
    with pytest.raises(PackingError, match=f"^k_TGD = {shown}: must have the head size of the queries and the heads"):
        attention(*(torch.zeros(shape) for shape in shapes.values()), layout([0, 8]))


@pytest.mark.parametrize(("query_heads", "key_heads", "name"), [(4, 4, "q_THD = 4"), (6, 2, "k_TGD = 2")])
def test_heads_that_ranks_cannot_share_are_refused(query_heads: int, key_heads: int, name: str) -> None:
    stream = layout([0, 12])
    with pytest.raises(PackingError, match=rf"^{name}: must have a number of heads that 3 ranks can share"):
        all_to_all_attention(*heads(stream, query_heads, key_heads), stream, 3)

"""Attention over a packed stream: the oracle, document by document, and three ways to share it among CP ranks.

The ranks are simulated one after another in one process, on the slots that ``context_parallel.partition`` gives each
of them. One segment of 8 slots, W = 2; what the queries of rank 0 see of it:

    slot            0 1 2 3 4 5 6 7
    chunk           0 0 1 1 2 2 3 3         rank 0 owns chunks 0 and 3, rank 1 owns chunks 1 and 2
    query in 0      c .                     step 0, own keys, causal
    query in 3      x x         c .         step 0
    query in 3          x x x x             step 1, the keys of rank 1, all of them

Every method gives what attention gives to each document alone, forward and backward. Tensors are torch, of any
floating dtype, on any device; importing the rest of ``reference_impl`` needs no torch.

Names carry shapes: T slots, H query heads, G key and value heads (H % G == 0), D head size, E head size of values;
Q and K are numbers of queries and keys.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce

import numpy as np
import torch
from torch import Tensor

from reference_impl import context_parallel
from reference_impl.batches import Layout
from reference_impl.context_parallel import Partition
from reference_impl.documents import IntArray
from reference_impl.errors import PackingError
from reference_impl.thd import check_layout

LocalBoundaries = Callable[[Layout, int, int], IntArray]
"""The operation ``local_boundaries``: layout, world, rank to cumulative valid lengths on the rank."""


@dataclass(frozen=True, eq=False)
class Partial:
    """Attention of some queries to some of their keys.

    Attributes:
        out_HQE: softmax over these keys only, times their values.
        lse_HQ: logarithm of the sum of the exponentials of the scores, natural.
    """

    out_HQE: Tensor
    lse_HQ: Tensor


# The oracle ----------------------------------------------------------------------------------------------------------


def attention(
    q_THD: Tensor, k_TGD: Tensor, v_TGE: Tensor, layout: Layout, *, causal: bool = True, scale: float | None = None
) -> Tensor:
    """Attention of every document to itself and to nothing else; (T, H, E).

    Args:
        q_THD: queries.
        k_TGD: keys; fewer heads than queries are grouped-query attention, head h reads key head h // (H / G).
        v_TGE: values.
        layout: boundaries; only valid tokens ask and are seen. Padding slots get 0.
        causal: a token sees only itself and those before it.
        scale: factor of the scores; by default 1 / sqrt(D).

    Raises:
        PackingError: a tensor does not have one entry per slot, or heads do not match.
    """
    checked = _checked(q_THD, k_TGD, v_TGE, layout)
    q_HTD, k_HTD, v_HTE = _by_head(q_THD, k_TGD, v_TGE, scale)
    pieces = [v_HTE[:, :0]]
    for start, slots, valid in _segments(checked):
        own = slice(start, start + valid)
        pieces.append(attend(q_HTD[:, own], k_HTD[:, own], v_HTE[:, own], causal=causal).out_HQE)
        pieces.append(_padding(slots - valid, v_HTE))
    return torch.cat(pieces, dim=1).transpose(0, 1)


def attend(q_HQD: Tensor, k_HKD: Tensor, v_HKE: Tensor, *, causal: bool) -> Partial:
    """Attention of Q queries to K keys, at least one of which each query sees.

    Args:
        q_HQD: queries, times the factor of the scores.
        k_HKD: keys.
        v_HKE: values.
        causal: the last query sees all keys, each one before it sees one less (aligned bottom right).
    """
    scores_HQK = q_HQD @ k_HKD.transpose(1, 2)
    if causal:
        queries, keys = scores_HQK.shape[1:]
        last_seen_Q1 = torch.arange(keys - queries, keys, device=q_HQD.device)[:, None]
        hidden_QK = torch.arange(keys, device=q_HQD.device) > last_seen_Q1
        scores_HQK = scores_HQK.masked_fill(hidden_QK, -math.inf)
    lse_HQ = torch.logsumexp(scores_HQK, dim=-1)
    weights_HQK = torch.exp(scores_HQK - lse_HQ[..., None])
    return Partial(weights_HQK @ v_HKE, lse_HQ)


def merge(one: Partial, other: Partial) -> Partial:
    """Attention of the same queries to the keys of both partial results.

    With ``o`` the outputs and ``l`` the logarithms of the sums, ``l = log(exp l1 + exp l2)`` and
    ``o = o1 exp(l1 - l) + o2 exp(l2 - l)``. The order does not matter but for rounding.
    """
    lse_HQ = torch.logaddexp(one.lse_HQ, other.lse_HQ)
    one_HQ1, other_HQ1 = (torch.exp(part.lse_HQ - lse_HQ)[..., None] for part in (one, other))
    return Partial(one.out_HQE * one_HQ1 + other.out_HQE * other_HQ1, lse_HQ)


# Context parallelism -------------------------------------------------------------------------------------------------


def ring_attention(
    q_THD: Tensor,
    k_TGD: Tensor,
    v_TGE: Tensor,
    layout: Layout,
    world: int,
    *,
    causal: bool = True,
    scale: float | None = None,
    partition: Partition = context_parallel.partition,
    local_boundaries: LocalBoundaries = context_parallel.local_boundaries,
) -> Tensor:
    """Keys and values travel around the ring of ranks, and partial results are merged; (T, H, E) in slot order.

    In step s, rank r meets the keys of rank r - s. Of those, its queries of chunk r and of chunk 2W - 1 - r see:

        source       chunk r            chunk 2W - 1 - r
        r itself     first half, causal both halves, causal
        before r     first half         first half
        behind r     nothing            both halves

    Args:
        q_THD: queries, of all ranks.
        k_TGD: keys, of all ranks.
        v_TGE: values, of all ranks.
        layout: boundaries of the whole stream.
        world: W, the CP size.
        causal: as ``attention``.
        scale: as ``attention``.
        partition: the operation of this name.
        local_boundaries: the operation of this name.

    Raises:
        PackingError: as ``attention``, and as ``partition``.
    """
    checked = _checked(q_THD, k_TGD, v_TGE, layout)
    ranks = [_Rank(checked, world, rank, partition, local_boundaries) for rank in range(world)]
    q_HTD, k_HTD, v_HTE = _by_head(q_THD, k_TGD, v_TGE, scale)
    keys, values = [rank.take(k_HTD) for rank in ranks], [rank.take(v_HTE) for rank in ranks]

    def of_step(rank: int, source: int, queries_HQD: Tensor, segment: int, half: int) -> Partial | None:
        seen = _halves_seen(rank, source, half) if causal else 2
        start, stop = ranks[source].starts[segment], ranks[source].ends(segment)[seen]
        if start == stop:
            return None
        k_HKD, v_HKE = keys[source][:, start:stop], values[source][:, start:stop]
        return attend(queries_HQD, k_HKD, v_HKE, causal=causal and source == rank)

    def of_chunk(rank: int, queries_HQD: Tensor, segment: int, half: int) -> Tensor:
        sources = [(rank - step) % world for step in range(world)]
        partials = [of_step(rank, source, queries_HQD, segment, half) for source in sources]
        return reduce(merge, [partial for partial in partials if partial]).out_HQE

    return _by_rank_and_chunk(ranks, q_HTD, v_HTE, of_chunk)


def all_gather_attention(
    q_THD: Tensor,
    k_TGD: Tensor,
    v_TGE: Tensor,
    layout: Layout,
    world: int,
    *,
    causal: bool = True,
    scale: float | None = None,
    partition: Partition = context_parallel.partition,
    local_boundaries: LocalBoundaries = context_parallel.local_boundaries,
) -> Tensor:
    """Every rank gathers all keys and values, restores their order, and asks with its own queries; (T, H, E).

    The valid queries of a chunk that starts at position p see the first p + Q keys of their document, aligned bottom
    right. That is ``min(V, c (k + 1))`` for chunk k of c slots in a document of V valid tokens (TransformerEngine,
    all-gather with THD).

    Args:
        q_THD: queries, of all ranks.
        k_TGD: keys, of all ranks.
        v_TGE: values, of all ranks.
        layout: boundaries of the whole stream.
        world: W, the CP size.
        causal: as ``attention``.
        scale: as ``attention``.
        partition: the operation of this name.
        local_boundaries: the operation of this name.

    Raises:
        PackingError: as ``attention``, and as ``partition``.
    """
    checked = _checked(q_THD, k_TGD, v_TGE, layout)
    ranks = [_Rank(checked, world, rank, partition, local_boundaries) for rank in range(world)]
    q_HTD, k_HTD, v_HTE = _by_head(q_THD, k_TGD, v_TGE, scale)
    k_all, v_all = (_in_slot_order(ranks, [rank.take(kept) for rank in ranks]) for kept in (k_HTD, v_HTE))
    documents = list(_segments(checked))

    def of_chunk(rank: int, queries_HQD: Tensor, segment: int, half: int) -> Tensor:
        start, slots, valid = documents[segment]
        chunk = 2 * world - 1 - rank if half else rank
        seen = chunk * (slots // (2 * world)) + queries_HQD.shape[1] if causal else valid
        k_HKD, v_HKE = k_all[:, start : start + seen], v_all[:, start : start + seen]
        return attend(queries_HQD, k_HKD, v_HKE, causal=causal).out_HQE

    return _by_rank_and_chunk(ranks, q_HTD, v_HTE, of_chunk)


def all_to_all_attention(
    q_THD: Tensor,
    k_TGD: Tensor,
    v_TGE: Tensor,
    layout: Layout,
    world: int,
    *,
    causal: bool = True,
    scale: float | None = None,
    partition: Partition = context_parallel.partition,
) -> Tensor:
    """Ranks exchange their share of the slots for a share of the heads, and back; (T, H, E) in slot order.

    Rank r computes heads r H / W to (r + 1) H / W - 1 for the whole stream.

    Args:
        q_THD: queries, of all ranks.
        k_TGD: keys, of all ranks.
        v_TGE: values, of all ranks.
        layout: boundaries of the whole stream.
        world: W, the CP size; divides H and G.
        causal: as ``attention``.
        scale: as ``attention``.
        partition: the operation of this name.

    Raises:
        PackingError: as ``attention`` and ``partition``, or the heads cannot be shared equally.
    """
    checked = _checked(q_THD, k_TGD, v_TGE, layout)
    ranks = [_Rank(checked, world, rank, partition) for rank in range(world)]
    for name, heads in (("q_THD", q_THD.shape[1]), ("k_TGD", k_TGD.shape[1])):
        if heads % world:
            raise PackingError(name, heads, f"must have a number of heads that {world} ranks can share equally")

    def heads_of(rank: int, tensor: Tensor) -> Tensor:
        by_head = tensor.transpose(0, 1)
        parts = [sender.take(by_head).tensor_split(world)[rank] for sender in ranks]
        return _in_slot_order(ranks, parts).transpose(0, 1)

    by_heads = [
        attention(
            heads_of(rank, q_THD), heads_of(rank, k_TGD), heads_of(rank, v_TGE), checked, causal=causal, scale=scale
        )
        for rank in range(world)
    ]
    by_slots = [torch.cat([rank.take(out.transpose(0, 1)) for out in by_heads]) for rank in ranks]
    return _in_slot_order(ranks, by_slots).transpose(0, 1)


class _Rank:
    """Which slots a rank owns, and where each segment's two chunks lie among them.

    Attributes:
        rank: its number.
        slots: owned slots (T / W,), ascending.
        starts: first local slot of each segment.
        slot_counts: local slots of each segment.
    """

    def __init__(
        self,
        layout: Layout,
        world: int,
        rank: int,
        partition: Partition,
        local_boundaries: LocalBoundaries = context_parallel.local_boundaries,
    ) -> None:
        self.rank = rank
        self.slots = partition(layout, world, rank)
        self.starts: list[int] = (layout.padded[:-1] // world).tolist()
        self.slot_counts: list[int] = (np.diff(layout.padded) // world).tolist()
        self._valid: list[int] = np.diff(local_boundaries(layout, world, rank)).tolist()

    def take(self, tensor_HTX: Tensor) -> Tensor:
        """The rank's part (H, T / W, ...) of a tensor with one entry per slot on its second axis."""
        return tensor_HTX[:, torch.as_tensor(self.slots)]

    def ends(self, segment: int) -> tuple[int, int, int]:
        """Local slots behind the valid tokens of none, of the first and of both of a segment's chunks.

        Valid tokens come first also on a rank: where the first chunk has padding, the second has nothing else.
        """
        start, valid = self.starts[segment], self._valid[segment]
        return start, start + min(valid, self.slot_counts[segment] // 2), start + valid


OfChunk = Callable[[int, Tensor, int, int], Tensor]
"""Output (H, Q, E) of a rank's queries (H, Q, D) in one segment's first (0) or second (1) chunk."""


def _halves_seen(rank: int, source: int, half: int) -> int:
    """How many of a source's two chunks a rank's chunk sees under causal attention; see ``ring_attention``."""
    if source == rank:
        return 1 + half
    return 1 if source < rank else 2 * half


def _by_rank_and_chunk(ranks: list[_Rank], q_HTD: Tensor, v_HTE: Tensor, of_chunk: OfChunk) -> Tensor:
    """Outputs (T, H, E) of all chunks of all ranks, with 0 at padding, in slot order."""
    outputs: list[Tensor] = []
    for rank in ranks:
        queries = rank.take(q_HTD)
        pieces = [v_HTE[:, :0]]
        for segment, slots in enumerate(rank.slot_counts):
            start, middle, end = rank.ends(segment)
            for half, own in enumerate((slice(start, middle), slice(middle, end))):
                if own.start < own.stop:
                    pieces.append(of_chunk(rank.rank, queries[:, own], segment, half))
            pieces.append(_padding(start + slots - end, v_HTE))
        outputs.append(torch.cat(pieces, dim=1))
    return _in_slot_order(ranks, outputs).transpose(0, 1)


def _in_slot_order(ranks: list[_Rank], parts: list[Tensor]) -> Tensor:
    """The parts (H, T / W, ...) of all ranks, put together in the order of the stream."""
    order = np.argsort(np.concatenate([rank.slots for rank in ranks]), kind="stable")
    return torch.cat(parts, dim=1)[:, torch.as_tensor(order)]


# Checks and pieces ---------------------------------------------------------------------------------------------------


def _segments(layout: Layout) -> Iterator[tuple[int, int, int]]:
    """First slot, slots and valid tokens of each segment."""
    yield from zip(
        layout.padded[:-1].tolist(), np.diff(layout.padded).tolist(), np.diff(layout.valid).tolist(), strict=True
    )


def _padding(slots: int, v_HTE: Tensor) -> Tensor:
    """Output (H, slots, E) of padding."""
    return v_HTE.new_zeros(v_HTE.shape[0], slots, v_HTE.shape[2])


def _by_head(q_THD: Tensor, k_TGD: Tensor, v_TGE: Tensor, scale: float | None) -> tuple[Tensor, Tensor, Tensor]:
    """Queries times the factor of the scores, keys and values, all with H heads in front."""
    group = q_THD.shape[1] // k_TGD.shape[1]
    factor = q_THD.shape[2] ** -0.5 if scale is None else scale
    by_head = [tensor.transpose(0, 1) for tensor in (q_THD * factor, k_TGD, v_TGE)]
    if group == 1:
        return by_head[0], by_head[1], by_head[2]
    return by_head[0], by_head[1].repeat_interleave(group, dim=0), by_head[2].repeat_interleave(group, dim=0)


def _checked(q_THD: Tensor, k_TGD: Tensor, v_TGE: Tensor, layout: Layout) -> Layout:
    """The layout, after the checks that ``attention`` names."""
    checked = check_layout(layout)
    total = int(checked.padded[-1])
    for name, tensor in (("q_THD", q_THD), ("k_TGD", k_TGD), ("v_TGE", v_TGE)):
        if tensor.ndim != 3 or tensor.shape[0] != total:
            raise PackingError(name, tuple(tensor.shape), f"must have three axes, the first of {total} slots")
    if k_TGD.shape[2] != q_THD.shape[2] or v_TGE.shape[1] != k_TGD.shape[1]:
        shapes = (tuple(q_THD.shape), tuple(k_TGD.shape), tuple(v_TGE.shape))
        raise PackingError("k_TGD", shapes, "must have the head size of the queries and the heads of the values")
    if q_THD.shape[1] % k_TGD.shape[1]:
        raise PackingError("k_TGD", k_TGD.shape[1], f"must have a number of heads that divides {q_THD.shape[1]}")
    return checked

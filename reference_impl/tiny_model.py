"""A tiny causal language model over packed streams, and one training step of it.

It shows end to end that packing changes nothing: one step on packed, in-batch packed, context-parallel and unpacked
batches has the same loss and the same gradients. Two kinds of layers mix slots, attention and a recurrent layer; all
others work slot by slot, so they do not care in which order slots come or who owns them.

Where slots are mixed, the model asks a ``Mixing``. ``RankMixing`` simulates all CP ranks in one process, whose slots
come rank by rank; a test on several processes brings one of its own, which communicates.

T slots, H heads, D head size, C channels, K taps. Positions are learned ones, so that wrong ``position_ids`` show.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn

from reference_impl.attention import all_gather_attention, all_to_all_attention, attention, ring_attention
from reference_impl.batches import Layout, ThdBatch
from reference_impl.context_parallel import all_to_all_order
from reference_impl.errors import PackingError
from reference_impl.loss import reduce_loss
from reference_impl.ranks import Exchange, LossPart, ReducedLoss
from reference_impl.recurrence import recurrence, short_convolution
from reference_impl.thd import sequence_index

Reduce = Callable[[Sequence[LossPart]], ReducedLoss]
"""The operation ``reduce_loss``."""


# Where slots are mixed -----------------------------------------------------------------------------------------------


class Mixing(Protocol):
    """What a model asks for where a slot's output depends on other slots."""

    def attention(self, q_THD: Tensor, k_THD: Tensor, v_THD: Tensor) -> Tensor:
        """Causal attention inside documents; (T, H, D)."""
        ...

    def recurrence(self, values_TC: Tensor, decays_TC: Tensor, taps_KC: Tensor) -> Tensor:
        """Short convolution, then recurrence, inside documents; (T, C)."""
        ...


class StreamMixing:
    """Slots of a whole stream, in order.

    Args:
        layout: boundaries of the stream.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._seq_idx = torch.as_tensor(sequence_index(layout, int(layout.padded[-1])))

    def attention(self, q_THD: Tensor, k_THD: Tensor, v_THD: Tensor) -> Tensor:
        """See ``Mixing``."""
        return attention(q_THD, k_THD, v_THD, self._layout)

    def recurrence(self, values_TC: Tensor, decays_TC: Tensor, taps_KC: Tensor) -> Tensor:
        """See ``Mixing``."""
        seq_idx = self._seq_idx.to(values_TC.device)
        return recurrence(short_convolution(values_TC, taps_KC, seq_idx), decays_TC, seq_idx)


class RankMixing:
    """Slots of all CP ranks, rank by rank.

    Args:
        layout: boundaries of the whole stream.
        world: CP size.
        exchange: how ranks share attention; the recurrent layer always exchanges slots for channels.
    """

    def __init__(self, layout: Layout, world: int, exchange: Exchange = Exchange.RING) -> None:
        shared = {
            Exchange.RING: ring_attention,
            Exchange.ALL_GATHER: all_gather_attention,
            Exchange.ALL_TO_ALL: all_to_all_attention,
        }
        self._attention: Callable[..., Tensor] = shared[exchange]
        self._layout, self._world = layout, world
        order = all_to_all_order(layout, world)
        self._to_ranks, self._to_stream = torch.as_tensor(order.to_ranks), torch.as_tensor(order.to_stream)
        self._stream = StreamMixing(layout)

    def attention(self, q_THD: Tensor, k_THD: Tensor, v_THD: Tensor) -> Tensor:
        """See ``Mixing``."""
        q, k, v = (self._in_order(tensor) for tensor in (q_THD, k_THD, v_THD))
        return self._by_rank(self._attention(q, k, v, self._layout, self._world))

    def recurrence(self, values_TC: Tensor, decays_TC: Tensor, taps_KC: Tensor) -> Tensor:
        """See ``Mixing``."""
        return self._by_rank(self._stream.recurrence(self._in_order(values_TC), self._in_order(decays_TC), taps_KC))

    def _in_order(self, tensor: Tensor) -> Tensor:
        return tensor[self._to_stream]

    def _by_rank(self, tensor: Tensor) -> Tensor:
        return tensor[self._to_ranks]


# The model -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TinySize:
    """Sizes of the model.

    Attributes:
        vocabulary: tokens are below this.
        positions: documents are at most so long.
        width: hidden size.
        heads: attention heads; divides ``width``.
        taps: of the short convolution.
        recurrent: a recurrent layer follows the attention layer.
    """

    vocabulary: int = 24
    positions: int = 32
    width: int = 8
    heads: int = 4
    taps: int = 3
    recurrent: bool = False


class TinyModel(nn.Module):
    """A causal language model: attention, a recurrent layer if asked for, and a slot-wise layer, each with a residual.

    Args:
        size: sizes.
        seed: decides the weights, normal ones whose variance is 1 over their first size; torch's ambient random state
            is neither read nor changed.
        dtype: of weights and activations.
    """

    def __init__(self, size: TinySize, seed: int = 0, dtype: torch.dtype = torch.float64) -> None:
        super().__init__()
        self.size = size
        width = size.width
        shapes = {
            "embedding": (size.vocabulary, width),
            "position": (size.positions, width),
            "qkv": (width, 3 * width),
            "projection": (width, width),
            "up": (width, 2 * width),
            "down": (2 * width, width),
            "head": (width, size.vocabulary),
        }
        if size.recurrent:
            shapes |= {"gates": (width, 2 * width), "taps": (size.taps, width)}
        generator = torch.Generator().manual_seed(seed)
        for name, shape in shapes.items():
            weight = torch.randn(shape, generator=generator, dtype=torch.float64) * shape[0] ** -0.5
            self.register_parameter(name, nn.Parameter(weight.to(dtype)))

    def forward(self, tokens_T: Tensor, position_ids_T: Tensor, mixing: Mixing) -> Tensor:
        """Logits (T, vocabulary) of the token behind each slot.

        Args:
            tokens_T: tokens, integers.
            position_ids_T: positions inside documents.
            mixing: does what depends on other slots.
        """
        weights = dict(self.named_parameters())
        x_TC = weights["embedding"][tokens_T] + weights["position"][position_ids_T]
        shape = (len(tokens_T), self.size.heads, self.size.width // self.size.heads)
        q_TC, k_TC, v_TC = (_normalised(x_TC) @ weights["qkv"]).tensor_split(3, dim=1)
        mixed_THD = mixing.attention(q_TC.reshape(shape), k_TC.reshape(shape), v_TC.reshape(shape))
        x_TC = x_TC + mixed_THD.reshape(x_TC.shape) @ weights["projection"]
        if self.size.recurrent:
            values_TC, decays_TC = (_normalised(x_TC) @ weights["gates"]).tensor_split(2, dim=1)
            x_TC = x_TC + mixing.recurrence(values_TC, torch.sigmoid(decays_TC), weights["taps"])
        x_TC = x_TC + torch.tanh(_normalised(x_TC) @ weights["up"]) @ weights["down"]
        return _normalised(x_TC) @ weights["head"]


def _normalised(x_TC: Tensor) -> Tensor:
    """Every slot divided by its root mean square."""
    return x_TC * torch.rsqrt(x_TC.square().mean(dim=1, keepdim=True) + 1e-6)


# One step ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MicroBatch:
    """A stream as the model gets it: slots of all its ranks, rank by rank.

    Attributes:
        tokens, position_ids, labels: (T,) integers.
        weights: (T,) float64, 0 or 1.
        mixing: see ``Mixing``.
        world: CP size; every rank has T / world slots.
    """

    tokens: Tensor
    position_ids: Tensor
    labels: Tensor
    weights: Tensor
    mixing: Mixing
    world: int = 1


@dataclass(frozen=True, eq=False)
class Step:
    """Loss and gradients of one training step, over all micro batches, replicas and ranks.

    Attributes:
        loss: as ``reduce_loss`` gives it.
        tokens: trained tokens.
        gradients: by name of the weight.
    """

    loss: float
    tokens: int
    gradients: Mapping[str, Tensor]


def micro_batch(batch: ThdBatch, world: int = 1, exchange: Exchange = Exchange.RING) -> MicroBatch:
    """A packed stream as ``world`` simulated CP ranks get it.

    Raises:
        PackingError: the stream has no labels or no loss mask, or as ``partition``.
    """
    if batch.labels is None:
        raise PackingError("batch.labels", None, "must be given to train on")
    if batch.loss_mask is None:
        raise PackingError("batch.loss_mask", None, "must be given to train on")
    order = all_to_all_order(batch.layout, world).to_ranks
    return MicroBatch(
        tokens=torch.as_tensor(batch.tokens[order]),
        position_ids=torch.as_tensor(batch.position_ids[order]),
        labels=torch.as_tensor(batch.labels[order]),
        weights=torch.as_tensor(batch.loss_mask[order]),
        mixing=RankMixing(batch.layout, world, exchange),
        world=world,
    )


def train_step(model: TinyModel, replicas: Sequence[Sequence[MicroBatch]], reduce: Reduce = reduce_loss) -> Step:
    """Loss and gradients of one step; weights are not changed.

    Args:
        model: the model, the same on every replica.
        replicas: micro batches of each data-parallel replica.
        reduce: the operation ``reduce_loss``. Its parts are the ranks of the micro batches of the replicas.
    """
    weights = dict(model.named_parameters())
    losses, parts = _token_losses(model, [batch for replica in replicas for batch in replica])
    reduced = reduce(parts)
    gradients = {name: torch.zeros_like(weight) for name, weight in weights.items()}
    place = 0
    for replica in replicas:
        count = sum(batch.world for batch in replica)
        scaled = [
            losses[at][torch.as_tensor(parts[at].weights == 1)].sum() * float(reduced.scales[at])
            for at in range(place, place + count)
        ]
        place += count
        found = torch.autograd.grad(torch.stack(scaled).sum(), list(weights.values()))
        for name, gradient in zip(weights, found, strict=True):
            gradients[name] += gradient
    return Step(reduced.loss, reduced.tokens, gradients)


def _token_losses(model: TinyModel, batches: Sequence[MicroBatch]) -> tuple[list[Tensor], list[LossPart]]:
    """Loss of every slot, by rank of micro batch: with gradients, and as parts."""
    losses: list[Tensor] = []
    parts: list[LossPart] = []
    for batch in batches:
        logits_TV = model(batch.tokens, batch.position_ids, batch.mixing)
        labels_T = torch.where(batch.weights == 1, batch.labels, 0)  # untrained slots may hold -100
        losses_T = nn.functional.cross_entropy(logits_TV, labels_T, reduction="none")
        for of_rank, weights in zip(
            losses_T.tensor_split(batch.world), batch.weights.tensor_split(batch.world), strict=True
        ):
            losses.append(of_rank)
            parts.append(LossPart(of_rank.detach().cpu().double().numpy(), weights.cpu().numpy()))
    return losses, parts

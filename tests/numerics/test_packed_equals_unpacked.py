"""One training step has one loss and one gradient, however its documents are packed, cut and spread.

The tolerance is a noise floor, measured here from unpacked steps that differ only in the order of the documents, which
is to say in the order of sums: 2e-16 to 4e-16 on the machine that this was written on, for a loss of 3.7 and gradients
of up to 0.9. Packing sums in other orders again, over more slots and in other kernels (measured: 1e-16 to 4e-16); 16
times the floor has room for that. Every wrong composition below is more than a million times as far away.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import torch

from properties.museum import museum
from reference_impl.batches import CollateSpec, PaddedBatch, ThdBatch
from reference_impl.documents import Algorithm, Document, PackSpec
from reference_impl.ranks import Exchange
from reference_impl.reference import ReferenceImplementation
from reference_impl.tiny_model import MicroBatch, Step, StreamMixing, TinyModel, TinySize, micro_batch, train_step

REFERENCE = ReferenceImplementation()
ROOM = 16
SIZE = TinySize(positions=64)
ATTENTION, RECURRENT = TinyModel(SIZE), TinyModel(replace(SIZE, recurrent=True))
MODELS = pytest.mark.parametrize("model", [ATTENTION, RECURRENT], ids=["attention", "recurrent"])
EXCHANGES = pytest.mark.parametrize("exchange", list(Exchange))


def documents() -> list[Document]:
    """Seven documents of 2 to 13 tokens; the first part of each is a prompt, one has no answer."""
    generator = np.random.default_rng(5)
    lengths, answers = (13, 6, 2, 9, 10, 7, 5), (4, 2, 1, 8, 3, 7, 1)
    return [
        Document(np.append(generator.integers(1, SIZE.vocabulary, length - 1), 0), answer_start=answer)
        for length, answer in zip(lengths, answers, strict=True)
    ]


DOCUMENTS = documents()


def padded_batch(some: Sequence[Document]) -> PaddedBatch:
    """Documents as rows of one padded batch."""
    width = max(len(document.tokens) for document in some) - 1
    real = np.array([np.arange(width) < len(document.tokens) - 1 for document in some])
    tokens, labels = (np.zeros(real.shape, dtype=np.int64) for _ in range(2))
    weights = np.zeros(real.shape)
    for row, document in enumerate(some):
        length = len(document.tokens) - 1
        tokens[row, :length], labels[row, :length] = document.tokens[:-1], document.tokens[1:]
        weights[row, :length] = np.arange(1, length + 1) >= (document.answer_start or 0)
    return PaddedBatch(tokens, labels, weights, np.tile(np.arange(width), (len(some), 1)), real)


def in_batch(some: Sequence[Document], multiple: int = 1) -> ThdBatch:
    return REFERENCE.pack_in_batch(padded_batch(some), multiple, 0)


def unpacked(some: Sequence[Document] = DOCUMENTS) -> list[MicroBatch]:
    """Every document alone."""
    return [micro_batch(in_batch([document])) for document in some]


def packed(
    algorithm: Algorithm, world: int = 1, exchange: Exchange = Exchange.RING, width: int = 24
) -> list[MicroBatch]:
    """Documents packed offline, and collated row by row."""
    multiple = 1 if world == 1 else 2 * world
    dataset = REFERENCE.pack_documents(DOCUMENTS, PackSpec(width, algorithm, pad_multiple=multiple, seed=3))
    rows = range(len(dataset.rows))
    spec = CollateSpec(width=width, document_multiple=multiple, n_samples=None)
    batches = [REFERENCE.collate(dataset.rows, [row], spec)[0] for row in rows]
    return [micro_batch(batch, world, exchange) for batch in batches]


def distance(one: Step, other: Step) -> float:
    """Largest difference between two steps in loss or gradient."""
    gradients = [float((one.gradients[name] - other.gradients[name]).abs().max()) for name in one.gradients]
    return max(abs(one.loss - other.loss), *gradients)


@cache
def alone(model: TinyModel) -> Step:
    """The step on unpacked documents."""
    return train_step(model, [unpacked()])


@cache
def tolerance(model: TinyModel) -> float:
    orders = (DOCUMENTS[::-1], DOCUMENTS[3:] + DOCUMENTS[:3])
    floor = max(distance(alone(model), train_step(model, [unpacked(order)])) for order in orders)
    assert 0 < floor < 1e-13, "other orders of the same sums differ, and in the last bits only"
    return ROOM * floor


def assert_same_step(model: TinyModel, replicas: Sequence[Sequence[MicroBatch]]) -> None:
    got = train_step(model, replicas)
    assert got.tokens == alone(model).tokens
    assert distance(got, alone(model)) <= tolerance(model)


# Equal ---------------------------------------------------------------------------------------------------------------


@MODELS
@pytest.mark.parametrize("algorithm", list(Algorithm))
@pytest.mark.parametrize("width", [16, 24, 48])
def test_offline_packs_of_any_composition_give_the_same_step(
    model: TinyModel, algorithm: Algorithm, width: int
) -> None:
    assert_same_step(model, [packed(algorithm, width=width)])


@MODELS
@pytest.mark.parametrize("cut", [[7], [3, 4], [1, 5, 1]])
@pytest.mark.parametrize("multiple", [1, 8])
def test_in_batch_packs_give_the_same_step(model: TinyModel, cut: list[int], multiple: int) -> None:
    groups = [DOCUMENTS[start:end] for start, end in pairwise(np.cumsum([0, *cut]))]
    assert_same_step(model, [[micro_batch(in_batch(group, multiple)) for group in groups]])


@MODELS
@EXCHANGES
@pytest.mark.parametrize("world", [2, 4])
def test_any_number_of_context_ranks_gives_the_same_step(model: TinyModel, exchange: Exchange, world: int) -> None:
    assert_same_step(model, [packed(Algorithm.FIRST_FIT_DECREASING, world, exchange, width=32)])


@MODELS
@pytest.mark.parametrize("replicas", [1, 2, 3])
@pytest.mark.parametrize("world", [1, 2])
def test_any_number_of_replicas_gives_the_same_step(model: TinyModel, replicas: int, world: int) -> None:
    batches = packed(Algorithm.FIRST_FIT_SHUFFLE, world, width=16)
    assert len(batches) >= replicas
    assert_same_step(model, [batches[number::replicas] for number in range(replicas)])


@MODELS
def test_micro_batches_of_every_kind_give_the_same_step(model: TinyModel) -> None:
    """One replica packs in batches for two ranks, the other one trains a document of its own on one."""
    first = [micro_batch(in_batch(DOCUMENTS[:4], 4), 2), micro_batch(in_batch(DOCUMENTS[4:6], 8), 4)]
    assert_same_step(model, [first, unpacked(DOCUMENTS[6:])])


def test_all_slots_of_a_stream_in_order_are_those_of_one_rank() -> None:
    batch = in_batch(DOCUMENTS)
    stream = replace(micro_batch(batch), mixing=StreamMixing(batch.layout))
    assert_same_step(RECURRENT, [[stream]])


# Not equal -----------------------------------------------------------------------------------------------------------


def far_away(model: TinyModel, replicas: Sequence[Sequence[MicroBatch]], bug: str | None = None) -> bool:
    """Whether a step is more than a million tolerances away from the unpacked one."""
    reduce = museum()[bug].implementation().reduce_loss if bug else REFERENCE.reduce_loss
    return distance(train_step(model, replicas, reduce), alone(model)) > 1e6 * tolerance(model)


@pytest.mark.parametrize("bug", ["X-LOS-1", "ML-15", "ML-16", "X-LOS-3"])
def test_other_reductions_of_the_loss_give_another_step(bug: str) -> None:
    """Mean of means, gradients times the ranks, average_in_collective, and counting all slots."""
    assert far_away(ATTENTION, [packed(Algorithm.FIRST_FIT, 2, width=32)], bug)


@pytest.mark.parametrize("bug", ["X-LOS-1", "ML-16"])
def test_mean_of_means_depends_on_the_composition_of_packs(bug: str) -> None:
    """The negative control of per-token loss: two compositions of the same documents train differently."""
    reduce = museum()[bug].implementation().reduce_loss
    steps = [train_step(ATTENTION, [packed(Algorithm.FIRST_FIT, width=width)], reduce) for width in (16, 48)]
    assert distance(*steps) > 1e6 * tolerance(ATTENTION)


def test_equal_counts_hide_the_mean_of_means() -> None:
    """Where all parts train equally many tokens, both objectives are one: a test on such data shows nothing."""
    twins = [DOCUMENTS[0], replace(DOCUMENTS[0], tokens=DOCUMENTS[0].tokens[::-1].copy())]
    reduce = museum()["X-LOS-1"].implementation().reduce_loss
    wrong, right = train_step(ATTENTION, [unpacked(twins)], reduce), train_step(ATTENTION, [unpacked(twins)])
    assert distance(wrong, right) <= tolerance(ATTENTION)


def without_boundaries(batch: ThdBatch) -> ThdBatch:
    whole = np.array([0, len(batch.tokens)])
    return replace(batch, layout=replace(batch.layout, valid=whole, padded=whole))


def running_positions(batch: ThdBatch) -> ThdBatch:
    return replace(batch, position_ids=np.arange(len(batch.tokens)))


def labels_of_the_next_slot(batch: ThdBatch) -> ThdBatch:
    return replace(batch, labels=np.roll(batch.tokens, -1), loss_mask=np.ones(len(batch.tokens)))


@MODELS
@pytest.mark.parametrize("wrong", [without_boundaries, running_positions, labels_of_the_next_slot])
def test_wrong_packs_give_another_step(model: TinyModel, wrong: Callable[[ThdBatch], ThdBatch]) -> None:
    assert far_away(model, [[micro_batch(wrong(in_batch(DOCUMENTS)))]])


def test_recurrent_layer_without_boundaries_gives_another_step() -> None:
    """AM-02: attention is told of documents, the recurrent layer is not."""
    batch = in_batch(DOCUMENTS)
    right, leaky = micro_batch(batch), StreamMixing(without_boundaries(batch).layout)

    class Leaky(StreamMixing):
        def recurrence(self, values_TC: torch.Tensor, decays_TC: torch.Tensor, taps_KC: torch.Tensor) -> torch.Tensor:
            return leaky.recurrence(values_TC, decays_TC, taps_KC)

    assert far_away(RECURRENT, [[replace(right, mixing=Leaky(batch.layout))]])
    assert not far_away(ATTENTION, [[replace(right, mixing=Leaky(batch.layout))]])

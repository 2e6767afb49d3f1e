"""SCH: which ranks work on which samples, under hybrid context parallelism and for data-parallel balance."""

from __future__ import annotations

from functools import cache

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from properties.claims import holds, refuses, same
from properties.law import Activity, law
from reference_impl.documents import IntArray
from reference_impl.interface import Implementation, Op
from reference_impl.ranks import Assignment

NEEDS = {Op.SCHEDULE}
BALANCED = {Op.BALANCE}
LIMITS = (4, 8, 7, 10)
WIDTHS = st.sampled_from((1, 2, 4, 8))
"""Numbers of ranks."""


@cache
def samples(*, zero: bool = False) -> SearchStrategy[tuple[IntArray, int, int]]:
    """Lengths, ranks and limit, such that every sample fits on all ranks together.

    Args:
        zero: one of the samples has no token.
    """

    def of_size(ranks: int, limit: int) -> SearchStrategy[tuple[IntArray, int, int]]:
        longest = ranks * (limit if ranks == 1 else limit // 2 * 2)
        remarkable = {1, limit - 1, limit, limit + 1, 2 * limit, longest - 1, longest}
        length = st.sampled_from(sorted(size for size in remarkable if 0 < size <= longest))
        length |= st.integers(1, longest)
        lengths = st.lists(length, min_size=1, max_size=7).map(lambda drawn: [0, *drawn] if zero else drawn)
        return lengths.map(lambda drawn: (np.array(drawn, dtype=np.int64), ranks, limit))

    return st.tuples(WIDTHS, st.sampled_from(LIMITS)).flatmap(lambda drawn: of_size(*drawn))


Samples = tuple[IntArray, int, int]


def _several_sizes(samples: Samples) -> bool:
    lengths, ranks, limit = samples
    return ranks > 1 and bool((lengths > limit).any() and (lengths <= limit).any())


SEVERAL_SIZES = Activity("samples that need one rank beside those that need several", _several_sizes, 0.2)


def _assignments(implementation: Implementation, samples: Samples) -> list[Assignment]:
    return [assignment for group in implementation.schedule(*samples) for assignment in group]


@law(
    "SCH-001",
    needs=NEEDS,
    harm="samples are lost, or trained twice",
    sources=("I23", "P-PERM"),
    activity=SEVERAL_SIZES,
)
@given(samples=samples())
def test_every_sample_is_scheduled_once(implementation: Implementation, samples: Samples) -> None:
    """Every sample is in exactly one group, once."""
    found = sorted(assignment.sample for assignment in _assignments(implementation, samples))
    same(found, list(range(len(samples[0]))), "every sample is scheduled once")


@law(
    "SCH-001",
    facet="a sample without tokens",
    needs=NEEDS,
    harm="a sample that was masked to nothing ends the run",
    sources=("I23", "B26", "P-TOTAL"),
)
@given(samples=samples(zero=True))
def test_samples_without_tokens_are_scheduled_too(implementation: Implementation, samples: Samples) -> None:
    """A sample of length 0 is scheduled like any other."""
    found = sorted(assignment.sample for assignment in _assignments(implementation, samples))
    same(found, list(range(len(samples[0]))), "every sample is scheduled once")


@law("SCH-002", needs=NEEDS, harm="a rank runs out of memory", sources=("I23",), activity=SEVERAL_SIZES)
@given(samples=samples())
def test_no_rank_gets_more_of_a_sample_than_the_limit(implementation: Implementation, samples: Samples) -> None:
    """Of every sample, padded for its CP size, a rank has at most ``limit`` slots."""
    for assignment in _assignments(implementation, samples):
        share = assignment.slots // max(len(assignment.ranks), 1)
        holds(share <= samples[2], "a rank has at most the limit of a sample", got=assignment)
        holds(assignment.slots >= samples[0][assignment.sample], "a sample has room for its tokens", got=assignment)


@law("SCH-003", needs=NEEDS, harm="there is no process group of that size", sources=("I23", "B26"))
@given(samples=samples())
def test_cp_sizes_are_powers_of_two(implementation: Implementation, samples: Samples) -> None:
    """The ranks of a sample are distinct, within range, and a power of two in number."""
    for assignment in _assignments(implementation, samples):
        size = len(set(assignment.ranks))
        same(len(assignment.ranks), size, "a sample's ranks are distinct")
        holds(size and not size & (size - 1), "CP sizes are powers of two", got=assignment)
        holds(set(assignment.ranks) <= set(range(samples[1])), "ranks exist", got=assignment)


@law(
    "SCH-004",
    needs=NEEDS,
    harm="a segment cannot be cut into chunks, and tokens are lost",
    sources=("I23", "I10", "B25"),
    activity=SEVERAL_SIZES,
)
@given(samples=samples())
def test_samples_are_padded_for_the_cp_size_that_they_get(implementation: Implementation, samples: Samples) -> None:
    """A sample on several ranks has slots for 2 chunks on each of them, also where its group was widened."""
    for assignment in _assignments(implementation, samples):
        size = len(assignment.ranks)
        divisible = size == 1 or assignment.slots % (2 * size) == 0
        holds(divisible, "slots are a multiple of twice the CP size", got=assignment)
        spare = assignment.slots - int(samples[0][assignment.sample])
        holds(spare < (2 * size if size > 1 else 1), "there is no more padding than that takes", got=assignment)


@law("SCH-005", needs=NEEDS, harm="ranks wait, or hang in a collective", sources=("I23",), activity=SEVERAL_SIZES)
@given(samples=samples())
def test_no_rank_is_idle_in_a_group(implementation: Implementation, samples: Samples) -> None:
    """In every group, every rank works on a sample."""
    for group in implementation.schedule(*samples):
        busy = {rank for assignment in group for rank in assignment.ranks}
        same(busy, set(range(samples[1])), "no rank is idle in a group")


@law("SCH-006", needs=NEEDS, harm="the run hangs on process groups that do not exist", sources=("I23", "B26"))
@given(lengths=st.lists(st.integers(1, 8), min_size=1, max_size=4), ranks=st.sampled_from((3, 5, 6, 7, 12)))
def test_other_numbers_of_ranks_are_refused(implementation: Implementation, lengths: list[int], ranks: int) -> None:
    """A number of ranks that is no power of two is refused."""
    refuses(lambda: implementation.schedule(np.array(lengths), ranks, 8), "ranks are a power of two, or refused")


@law("SCH-007", needs=NEEDS, harm="a rank runs out of memory, or the error names nothing", sources=("I23", "B26"))
@given(samples=samples(), beyond=st.integers(1, 9))
def test_samples_that_fit_nowhere_are_refused(implementation: Implementation, samples: Samples, beyond: int) -> None:
    """A sample that does not fit on all ranks together is refused."""
    lengths, ranks, limit = samples
    longer = np.append(lengths, ranks * limit + beyond)
    refuses(lambda: implementation.schedule(longer, ranks, limit), "samples fit on all ranks, or are refused")


@law(
    "SCH-013", needs=NEEDS, harm="ranks take each other's chunks of a sample", sources=("I23",), activity=SEVERAL_SIZES
)
@given(samples=samples())
def test_ranks_of_a_sample_are_ascending(implementation: Implementation, samples: Samples) -> None:
    """The ranks of a sample are ascending, so that all of them number their CP group alike."""
    for assignment in _assignments(implementation, samples):
        same(assignment.ranks, tuple(sorted(assignment.ranks)), "the ranks of a sample are ascending")


# Balance -------------------------------------------------------------------------------------------------------------

Load = tuple[IntArray, int, int, int]


@cache
def loads() -> SearchStrategy[Load]:
    """Lengths, limit, CP size and replicas; as many samples as replicas, or a multiple of that."""

    def of_size(limit: int, context: int, replicas: int) -> SearchStrategy[Load]:
        capacity = limit * context
        length = st.sampled_from((1, 2, capacity // 2, capacity // 2 + 1, capacity)) | st.integers(1, capacity)
        count = st.integers(1, 12 // replicas).map(lambda times: times * replicas)
        lengths = count.flatmap(lambda size: st.lists(length, min_size=size, max_size=size))
        return lengths.map(lambda drawn: (np.array(drawn, dtype=np.int64), limit, context, replicas))

    sizes = st.tuples(st.sampled_from((4, 6)), st.sampled_from((1, 2)), st.sampled_from((1, 2, 3, 4)))
    return sizes.flatmap(lambda drawn: of_size(*drawn))


def _in_order(load: Load) -> int:
    """Packs of samples filled in order, whatever the replicas."""
    lengths, limit, context, _ = load
    packs, used = 0, limit * context
    for length in lengths.tolist():
        packs, used = (packs + 1, length) if used + length > limit * context else (packs, used + length)
    return packs


def _several_replicas(load: Load) -> bool:
    return load[3] > 1 and bool(_in_order(load) % load[3])


SPLIT_NEEDED = Activity("packs that do not come out even", _several_replicas, 0.1)


@law("SCH-008", needs=BALANCED, harm="samples are lost, or trained in another order", sources=("I23", "P-PERM"))
@given(load=loads())
def test_packs_keep_samples_in_order(implementation: Implementation, load: Load) -> None:
    """Packs one after another hold every sample once, in order."""
    packs = implementation.balance(*load)
    same([sample for pack in packs for sample in pack], list(range(len(load[0]))), "packs keep samples in order")


@law("SCH-009", needs=BALANCED, harm="a rank runs out of memory", sources=("I23", "P-CAP"))
@given(load=loads())
def test_packs_stay_within_their_capacity(implementation: Implementation, load: Load) -> None:
    """No pack has more tokens than its CP group has room for."""
    lengths, limit, context, _ = load
    for pack in implementation.balance(*load):
        used = sum(int(lengths[sample]) for sample in pack)
        holds(used <= limit * context, "packs stay within their capacity", got=pack, expected=limit * context)


@law(
    "SCH-010", needs=BALANCED, harm="some replicas hang in a collective", sources=("I23", "B27"), activity=SPLIT_NEEDED
)
@given(load=loads())
def test_every_replica_gets_as_many_packs(implementation: Implementation, load: Load) -> None:
    """The number of packs is a multiple of the replicas, and none is empty."""
    packs = implementation.balance(*load)
    same(len(packs) % load[3], 0, "every replica gets as many packs")
    holds(all(packs), "no pack is empty", got=packs)


@law("SCH-011", needs=BALANCED, harm="steps take as many micro batches as there were no CP", sources=("SL-03", "I23"))
@given(load=loads())
def test_packs_are_as_few_as_replicas_allow(implementation: Implementation, load: Load) -> None:
    """There are as many packs as in-order filling gives, up to the next multiple of the replicas."""
    expected = -(-_in_order(load) // load[3]) * load[3]
    same(len(implementation.balance(*load)), expected, "packs are as few as replicas allow")


@law("SCH-012", facet="over-long", needs=BALANCED, harm="packs are empty, or exceed memory", sources=("I23", "B27"))
@given(load=loads(), at=st.integers(0, 12), beyond=st.integers(1, 4))
def test_samples_beyond_a_pack_are_refused(implementation: Implementation, load: Load, at: int, beyond: int) -> None:
    """A sample that is longer than a pack is refused, also as the first one."""
    lengths, limit, context, replicas = load
    longer = np.insert(lengths, min(at, len(lengths)), limit * context + beyond)
    refuses(lambda: implementation.balance(longer, limit, context, replicas), "samples fit into packs, or are refused")


@law("SCH-012", facet="too few", needs=BALANCED, harm="replicas without a pack hang the run", sources=("I23", "B27"))
@given(replicas=st.integers(2, 6), missing=st.integers(1, 5))
def test_fewer_samples_than_replicas_are_refused(implementation: Implementation, replicas: int, missing: int) -> None:
    """Fewer samples than replicas are refused, because no split gives each one a pack."""
    lengths = np.ones(max(replicas - missing, 1), dtype=np.int64)
    refuses(lambda: implementation.balance(lengths, 4, 1, replicas), "every replica gets a pack, or it is refused")

"""Hybrid context parallelism: ``BalancedCPScheduler``, which plans samples and moves none."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.targets.megatron_core.groups import Group as ProcessGroup
from conformance.targets.modules import core
from reference_impl.documents import IntArray
from reference_impl.ranks import Assignment, Group

MODULE = "pipeline_parallel.hybrid_cp_schedule"


def schedule(lengths: IntArray, ranks: int, limit: int) -> tuple[Group, ...]:
    """The groups that Core plans; a sample has the slots that it came with, as padding is left to the data set."""
    planner = core(MODULE).BalancedCPScheduler(limit, ProcessGroup(ranks, 0))
    samples = [(sample, length) for sample, length in enumerate(lengths.tolist())]
    _, planned = planner.get_groups_and_subsamples(samples, None)
    return tuple(_group(by_rank, lengths) for by_rank in planned)


def _group(by_rank: Sequence[Sequence[int]], lengths: IntArray) -> Group:
    """From the samples of each rank to the ranks of each sample."""
    samples = dict.fromkeys(sample for held in by_rank for sample in held)
    return tuple(
        Assignment(
            sample,
            ranks=tuple(rank for rank, held in enumerate(by_rank) if sample in held),
            slots=int(lengths[sample]),
        )
        for sample in samples
    )

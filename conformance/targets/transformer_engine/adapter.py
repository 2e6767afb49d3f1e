"""``TransformerEngine``: the operations of its context-parallel helpers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar, override
from unittest import mock

import numpy as np

from conformance.isolation import quiet
from conformance.targets.modules import flat_integers, to_tensor, torch
from conformance.targets.package import Package
from conformance.targets.transformer_engine import importing
from reference_impl.batches import Layout, ThdBatch
from reference_impl.documents import IntArray
from reference_impl.errors import Inexpressible


@dataclass(frozen=True)
class _Group:
    """A process group, of which the helpers ask only this, by ``torch.distributed``."""

    world: int
    rank: int


class TransformerEngine(Package):
    """The TransformerEngine on this machine's import path, without its kernels.

    Raises:
        ModuleNotFoundError: it is not installed.
    """

    name: ClassVar[str] = "transformer-engine"
    stand_ins: ClassVar[tuple[str, ...]] = ("transformer_engine_torch", "transformer_engine but context_parallel.py")

    def __init__(self) -> None:
        self._helpers = importing.helpers()

    @override
    @quiet()
    def pad_layout(self, lengths: IntArray, multiple: int) -> Layout:
        valid = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
        tokens = torch().zeros(int(valid[-1]), dtype=torch().int64)
        *_, padded = self._helpers.pad_thd_sequences_for_cp(tokens, tokens, to_tensor(valid), multiple)
        return Layout(valid=valid, padded=flat_integers(padded))

    @override
    @quiet()
    def position_ids(self, layout: Layout) -> IntArray:
        # Boundaries of slots, which need no further padding: positions run on through that of the layout.
        return flat_integers(self._helpers.generate_positional_ids_for_cp(to_tensor(layout.padded), 1))

    @override
    @quiet()
    def partition(self, layout: Layout, world: int, rank: int) -> IntArray:
        slots = torch().arange(int(layout.padded[-1]))
        return flat_integers(self._sliced(layout, world, rank, slots))

    @override
    @quiet()
    def slice_batch(self, batch: ThdBatch, world: int, rank: int) -> ThdBatch:
        def cut(array: Any) -> Any:
            if array is None:
                return None
            return self._sliced(batch.layout, world, rank, to_tensor(array)).numpy()

        return replace(
            batch,
            tokens=cut(batch.tokens),
            labels=cut(batch.labels),
            loss_mask=cut(batch.loss_mask),
            position_ids=cut(batch.position_ids),
        )

    @override
    @quiet()
    def local_boundaries(self, layout: Layout, world: int, rank: int) -> IntArray:
        # As the ring attention does: both halves of what a rank owns, in a world of one as well.
        on_rank = to_tensor(layout.padded // world)
        local = self._helpers.get_cu_seqlens_on_cp_rank(to_tensor(layout.valid), on_rank, world, rank, True, True)
        return flat_integers(local)

    def _sliced(self, layout: Layout, world: int, rank: int, stream: Any) -> Any:
        if not 0 <= rank < world:
            raise Inexpressible(f"no process group of {world} ranks has a rank {rank}")
        with _process_group():
            cut, *_ = self._helpers.get_batch_on_this_cp_rank(
                to_tensor(layout.padded), stream, None, None, cp_group=_Group(world, rank)
            )
        return cut


def _world(group: _Group) -> int:
    return group.world


def _rank(group: _Group) -> int:
    return group.rank


@contextmanager
def _process_group() -> Iterator[None]:
    """Let ``torch.distributed`` answer for a ``_Group``, which no process stands behind."""
    distributed = torch().distributed
    with (
        mock.patch.object(distributed, "get_world_size", _world),
        mock.patch.object(distributed, "get_rank", _rank),
    ):
        yield

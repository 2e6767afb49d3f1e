"""``MegatronCore``: packed-sequence parameters, rotary embeddings, multi-token prediction and schedules."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Any, ClassVar, override

import numpy as np

from conformance.isolation import ABSENT, has_transformer_engine, quiet
from conformance.targets.megatron_bridge import boundaries
from conformance.targets.megatron_core import roll, rope, schedule
from conformance.targets.modules import core, flat_integers, to_tensor
from conformance.targets.package import Package
from reference_impl.batches import Layout
from reference_impl.documents import IntArray
from reference_impl.errors import Inexpressible, NotSupported
from reference_impl.interface import Op
from reference_impl.ranks import Borders, Group, RotaryMode


class MegatronCore(Package):
    """The Megatron-Core on this machine's import path.

    Slicing for context parallelism needs a kernel of TransformerEngine, and is not supported without a GPU.

    Raises:
        ModuleNotFoundError: it is not installed.
    """

    name: ClassVar[str] = "megatron-core"

    def __init__(self) -> None:
        with quiet():
            if "megatron.core" not in sys.modules and not has_transformer_engine():
                for name in ABSENT:
                    sys.modules[name] = None  # pyright: ignore[reportArgumentType]  (the way to bar an import)
            importlib.import_module("megatron.core")
            self._merge: Any = getattr(core("utils"), "_merge_cu_seqlens_across_micro_batch", None)

    @override
    def operations(self) -> frozenset[Op]:
        """Merging came with 0.19, ``seq_idx`` with 0.18."""
        found = super().operations()
        if self._merge is None:
            found -= {Op.MERGE_LAYOUTS}
        if "total_tokens" not in core("packed_seq_params").PackedSeqParams.__dataclass_fields__:
            found -= {Op.SEQUENCE_INDEX}
        return found

    @override
    @quiet()
    def sequence_index(self, layout: Layout, total: int) -> IntArray:
        return boundaries.sequence_index(layout, total)

    @override
    @quiet()
    def merge_layouts(self, layouts: Sequence[Layout]) -> Layout:
        if self._merge is None:
            raise NotSupported("this release of Megatron-Core merges no boundaries")
        widths = {int(layout.padded[-1]) for layout in layouts}
        if len(widths) != 1 or not layouts:
            raise Inexpressible("Megatron-Core merges rows of one width only")
        [width] = widths
        if width > np.iinfo(np.int32).max:
            raise Inexpressible("Megatron-Core's boundaries are 32-bit numbers")
        if any(int(layout.valid[-1]) != width for layout in layouts):
            raise Inexpressible("Megatron-Core merges slots and valid lengths alike, as ends of rows of one width")
        return Layout(
            valid=self._merged([layout.valid for layout in layouts], width),
            padded=self._merged([layout.padded for layout in layouts], width),
        )

    @override
    @quiet()
    def rotary_rows(self, layout: Layout, world: int, rank: int, mode: RotaryMode) -> IntArray:
        return rope.rotary_rows(layout, world, rank, mode)

    @override
    @quiet()
    def rotary_axes(self, positions: IntArray, layout: Layout, world: int, rank: int) -> IntArray:
        return rope.rotary_axes(positions, layout, world, rank)

    @override
    @quiet()
    def roll(self, values: IntArray, layout: Layout, world: int, depth: int, borders: Borders) -> tuple[IntArray, ...]:
        del borders  # Core is told both boundaries, and has no setting for which of them end a segment
        return roll.roll(values, layout, world, depth)

    @override
    @quiet()
    def schedule(self, lengths: IntArray, ranks: int, limit: int) -> tuple[Group, ...]:
        return schedule.schedule(lengths, ranks, limit)

    @override
    def _release(self) -> str:
        """As the imported code states it; metadata of an installed release may be of another one."""
        return str(core("package_info").__version__).partition("+")[0]

    def _merged(self, rows: Sequence[IntArray], width: int) -> IntArray:
        """Rows filled up with their width, as the data set fills them, then merged."""
        longest = max(len(row) for row in rows)
        filled = np.array([[*row, *[width] * (longest - len(row))] for row in rows], dtype=np.int32)
        return flat_integers(self._merge(to_tensor(filled), width))

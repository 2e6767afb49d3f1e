"""``NemoAutomodel``: the operations that NeMo AutoModel's packing offers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, override

import numpy as np

from conformance.isolation import quiet
from conformance.targets.modules import to_tensor, torch
from conformance.targets.nemo_automodel import collating, importing, packing
from conformance.targets.package import Package
from reference_impl.batches import CollateSpec, Layout, ThdBatch
from reference_impl.documents import (
    Algorithm,
    Bins,
    BoolArray,
    Document,
    IntArray,
    Overlong,
    PackedDataset,
    PackedRow,
    PackSpec,
)
from reference_impl.policies import Policies

DECLARED = Policies(overlong=(Overlong.DROP, Overlong.REJECT))
"""What NeMo AutoModel declares: an over-long document is dropped or refused, as ``drop_long_samples`` says."""


class NemoAutomodel(Package):
    """The NeMo AutoModel on this machine's import path, without its models.

    Raises:
        ModuleNotFoundError: it is not installed, or something that its packing imports is not.
    """

    name: ClassVar[str] = "nemo-automodel"
    beside: ClassVar[tuple[str, ...]] = ("transformers", "datasets")
    stand_ins: ClassVar[tuple[str, ...]] = (f"{importing.ROOT} but its packing",)
    policies = DECLARED

    def __init__(self) -> None:
        importing.activate()

    @override
    @quiet()
    def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
        del seed  # nothing is drawn
        return packing.assign_bins(lengths, capacity, algorithm)

    @override
    @quiet()
    def pack_documents(self, documents: Sequence[Document], spec: PackSpec) -> PackedDataset:
        return packing.pack_documents(documents, spec)

    @override
    @quiet()
    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        return collating.collate(rows, indices, spec)

    @override
    @quiet()
    def padding_mask(self, layout: Layout) -> BoolArray:
        thd = importing.part(importing.THD)
        mask = thd._thd_padding_mask(  # noqa: SLF001 - the part of process_input_for_thd that does this
            total_tokens=int(layout.padded[-1]),
            valid_seq_lens=to_tensor(np.diff(layout.valid)),
            valid_seq_lens_padded=to_tensor(np.diff(layout.padded)),
            device=torch().device("cpu"),
        )
        return np.asarray(mask.numpy(), dtype=np.bool_)

"""``MegatronBridge``: the operations, each by the part of Bridge that offers it."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, override

import numpy as np

from conformance import isolation
from conformance.isolation import Imported, quiet
from conformance.targets.megatron_bridge import boundaries, dataset, offline, places, real_text, step
from conformance.targets.megatron_bridge import config as configuration
from conformance.targets.megatron_bridge import rows as packed_files
from conformance.targets.megatron_bridge.workspace import Workspace
from conformance.targets.modules import bridge
from reference_impl.batches import (
    BoundaryMetadata,
    CollateSpec,
    Layout,
    PaddedBatch,
    Parallelism,
    SequenceParams,
    ThdBatch,
)
from reference_impl.config import TrainingConfig, Validation
from reference_impl.documents import (
    Algorithm,
    Bins,
    Document,
    Histogram,
    IntArray,
    Overlong,
    PackedDataset,
    PackedRow,
    PackingStrategy,
    PackSpec,
)
from reference_impl.errors import NotSupported
from reference_impl.interface import Implementation, PreparedFiles, Record, Tokenizer
from reference_impl.policies import EmptyRow, Policies

MODULES = ("training.config", "models.gpt_provider")
"""Modules that the operations use beside those of ``places``, below ``megatron.bridge``."""

DECLARED = Policies(overlong=(Overlong.TRUNCATE,))
"""What Bridge declares up to 0.5: ``max_seq_length`` truncates, and an empty row of a micro batch is left out."""

DECLARED_FROM_06 = replace(DECLARED, empty_row=EmptyRow.REFUSED)
"""From 0.6 on, in-batch packing refuses a row without a real token."""


class MegatronBridge(Implementation):
    """The Megatron Bridge on this machine's import path.

    Operations on CP ranks need TransformerEngine and a GPU, and are not supported here.

    Args:
        source: import folder of a checkout; None takes the installed release.

    Raises:
        IsolationError: Bridge cannot be imported.
    """

    name: ClassVar[str] = "megatron-bridge"

    def __init__(self, source: Path | None = None) -> None:
        os.environ.setdefault("TQDM_DISABLE", "1")  # progress bars are no log, but tqdm has its own switch
        isolation.activate(source, cuda_stand_in=True)
        _silence_logs()
        _import_all()
        self.policies = DECLARED_FROM_06 if places.packs_in_collator() else DECLARED
        self._workspace = Workspace()

    @property
    def imported(self) -> Imported:
        """How Bridge was imported, and what was stood in for so far."""
        return isolation.activate()

    @property
    def places(self) -> dict[str, str]:
        """Import path of every part of packing that this release has."""
        return places.found()

    @property
    def defaults(self) -> dict[str, str]:
        """Default of every setting of these parts."""
        return places.defaults()

    # Offline packing -------------------------------------------------------------------------------------------------

    @override
    @quiet()
    def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
        del seed  # draws are from NumPy's global state
        return offline.assign_bins(lengths, capacity, algorithm)

    @override
    @quiet()
    def histogram(self, lengths: IntArray, max_length: int) -> Histogram:
        return offline.histogram(lengths, max_length)

    @override
    @quiet()
    def packing_strategy(self, counts: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> PackingStrategy:
        del seed  # draws are from NumPy's global state
        return offline.packing_strategy(counts, capacity, algorithm)

    @override
    @quiet()
    def fill(
        self, documents: Sequence[Document], bins: Bins, capacity: int, pad_id: int, seed: int
    ) -> tuple[PackedRow, ...]:
        del seed
        return offline.fill(documents, bins, capacity, pad_id)

    @override
    @quiet()
    def pad_document(self, document: Document, max_length: int, multiple: int | None, pad_id: int) -> Document:
        return offline.pad_document(document, max_length, multiple, pad_id)

    @override
    @quiet()
    def pack_documents(self, documents: Sequence[Document], spec: PackSpec) -> PackedDataset:
        with self._workspace.scratch() as folder:
            return offline.pack_documents(documents, spec, folder, self._suffix)

    @override
    @quiet()
    def prepare(self, documents: Sequence[Document], spec: PackSpec, folder: Path) -> PreparedFiles:
        return offline.prepare(documents, spec, folder, self._suffix)

    @override
    @quiet()
    def prepare_text(
        self, records: Sequence[Record], tokenizer: Tokenizer, spec: PackSpec, folder: Path, suffix: str
    ) -> PreparedFiles:
        return real_text.prepare_text(records, tokenizer, spec, folder, suffix)

    @override
    @quiet()
    def write_rows(self, rows: Sequence[PackedRow], path: Path) -> None:
        packed_files.write_rows(rows, path)

    @override
    @quiet()
    def read_rows(self, path: Path) -> tuple[PackedRow, ...]:
        return packed_files.read_rows(path)

    # Dataset and collation -------------------------------------------------------------------------------------------

    @override
    @quiet()
    def epoch_order(self, n_rows: int, n_samples: int, seed: int) -> IntArray:
        row = PackedRow(np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.bool_), np.zeros(1, dtype=np.int64))
        return dataset.epoch_order(self._packed_file([row] * n_rows), n_samples, seed)

    @override
    @quiet()
    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        return dataset.collate(self._packed_file(rows), indices, spec, self._workspace.folder)

    # Boundaries and in-batch packing ---------------------------------------------------------------------------------

    @override
    @quiet()
    def sequence_params(self, metadata: BoundaryMetadata) -> SequenceParams:
        return boundaries.sequence_params(metadata)

    @override
    @quiet()
    def sequence_index(self, layout: Layout, total: int) -> IntArray:
        return boundaries.sequence_index(layout, total)

    @override
    @quiet()
    def pack_in_batch(self, batch: PaddedBatch, multiple: int, pad_id: int) -> ThdBatch:
        return step.pack_in_batch(batch, multiple, pad_id)

    @override
    @quiet()
    def vlm_step(self, batch: PaddedBatch, parallelism: Parallelism) -> ThdBatch:
        return step.vlm_step(batch, parallelism)

    # Configuration ---------------------------------------------------------------------------------------------------

    @override
    @quiet()
    def validate(self, config: TrainingConfig) -> Validation:
        return configuration.validate(config, self._workspace.folder)

    @property
    def _suffix(self) -> str:
        """Suffix of the release's own packed files."""
        return ".idx.parquet" if packed_files.has_parquet() else ".npy"

    def _packed_file(self, rows: Sequence[PackedRow]) -> Path:
        return self._workspace.packed_file(rows, self._suffix, packed_files.write_rows)


@quiet()
def _import_all() -> None:
    """Import what the operations use, so that a target that cannot be imported is told when it is loaded.

    Only then is it known, too, which stand-ins are in use.
    """
    for name in MODULES:
        with contextlib.suppress(NotSupported):
            bridge(name)
    places.found()


def _silence_logs() -> None:
    """Drop what Bridge logs: by its own loggers, and from its files by the root logger."""
    logging.getLogger("megatron").setLevel(logging.CRITICAL)
    logging.root.addFilter(_is_not_of_bridge)


def _is_not_of_bridge(record: logging.LogRecord) -> bool:
    return f"{os.sep}megatron{os.sep}bridge{os.sep}" not in record.pathname

"""The specification, behind the interface that everything else is measured with.

Every method is thin: the rule is in the module that it names. Operations that are made of others call them through
``self``, so that a re-created bug, which overrides one method, shows in all that is built on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, override

from reference_impl import bins as first_fit
from reference_impl import (
    collate,
    context_parallel,
    in_batch,
    mtp,
    offline,
    one_document,
    rope,
    rows_io,
    rules,
    stages,
    thd,
)
from reference_impl import loss as losses
from reference_impl import schedule as scheduling
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
    BoolArray,
    Document,
    Histogram,
    IntArray,
    PackedDataset,
    PackedRow,
    PackingStrategy,
    PackSpec,
)
from reference_impl.errors import NotSupported
from reference_impl.interface import Implementation, PreparedFiles, Record, Tokenizer
from reference_impl.policies import EmptyRow
from reference_impl.prepared import replace_prepared
from reference_impl.ranks import (
    AttentionInputs,
    AttentionResult,
    Borders,
    Exchange,
    Grid,
    Group,
    LossPart,
    Place,
    PlacedBatch,
    RankOrder,
    RecurrenceInputs,
    RecurrenceResult,
    ReducedLoss,
    RotaryMode,
)
from reference_impl.text import document_of


class ReferenceImplementation(Implementation):
    """All operations, as they must be.

    Attributes:
        release: release of Megatron Bridge whose configuration rules ``validate`` applies; None means all of them.
    """

    name: ClassVar[str] = "reference"
    release: ClassVar[str | None] = None

    # Offline packing -------------------------------------------------------------------------------------------------

    @override
    def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
        return first_fit.assign_bins(lengths, capacity, algorithm, seed)

    @override
    def histogram(self, lengths: IntArray, max_length: int) -> Histogram:
        return offline.histogram(lengths, max_length)

    @override
    def packing_strategy(self, counts: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> PackingStrategy:
        return offline.packing_strategy(self, counts, capacity, algorithm, seed)

    @override
    def fill(
        self, documents: Sequence[Document], bins: Bins, capacity: int, pad_id: int, seed: int
    ) -> tuple[PackedRow, ...]:
        del pad_id  # Megatron Bridge's signature; documents come padded.
        return offline.fill(documents, bins, capacity, seed)

    @override
    def pad_document(self, document: Document, max_length: int, multiple: int | None, pad_id: int) -> Document:
        return one_document.pad_document(document, max_length, multiple, pad_id)

    @override
    def pack_documents(self, documents: Sequence[Document], spec: PackSpec) -> PackedDataset:
        return offline.pack_documents(self, documents, spec)

    @override
    def prepare(self, documents: Sequence[Document], spec: PackSpec, folder: Path) -> PreparedFiles:
        return self._prepare(documents, spec, folder, ".parquet")

    @override
    def prepare_text(
        self, records: Sequence[Record], tokenizer: Tokenizer, spec: PackSpec, folder: Path, suffix: str
    ) -> PreparedFiles:
        return self._prepare([document_of(record, tokenizer) for record in records], spec, folder, suffix)

    def _prepare(self, documents: Sequence[Document], spec: PackSpec, folder: Path, suffix: str) -> PreparedFiles:
        dataset = self.pack_documents(documents, spec)
        if dataset.metadata is None:
            raise NotSupported("without statistics of the packs there is nothing to write beside them")
        return replace_prepared(folder, suffix, dataset.metadata, lambda path: self.write_rows(dataset.rows, path))

    @override
    def write_rows(self, rows: Sequence[PackedRow], path: Path) -> None:
        rows_io.write_rows(rows, path)

    @override
    def read_rows(self, path: Path) -> tuple[PackedRow, ...]:
        return rows_io.read_rows(path)

    # Dataset and collation -------------------------------------------------------------------------------------------

    @override
    def epoch_order(self, n_rows: int, n_samples: int, seed: int) -> IntArray:
        return collate.epoch_order(n_rows, n_samples, seed)

    @override
    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        return collate.collate(rows, indices, spec, self.epoch_order, self.position_ids)

    # THD boundaries --------------------------------------------------------------------------------------------------

    @override
    def sequence_params(self, metadata: BoundaryMetadata) -> SequenceParams:
        return thd.sequence_params(metadata, self.sequence_index)

    @override
    def pack_in_batch(self, batch: PaddedBatch, multiple: int, pad_id: int) -> ThdBatch:
        if self.policies.empty_row == EmptyRow.REFUSED:
            in_batch.refuse_empty_rows(batch, pad_id)
        return in_batch.pack_in_batch(batch, multiple, pad_id, self.pad_layout)

    @override
    def vlm_step(self, batch: PaddedBatch, parallelism: Parallelism) -> ThdBatch:
        return self.pack_in_batch(batch, in_batch.padding_multiple(parallelism), in_batch.VLM_PAD_ID)

    @override
    def pad_layout(self, lengths: IntArray, multiple: int) -> Layout:
        return thd.pad_layout(lengths, multiple)

    @override
    def sequence_index(self, layout: Layout, total: int) -> IntArray:
        return thd.sequence_index(layout, total)

    @override
    def position_ids(self, layout: Layout) -> IntArray:
        return thd.position_ids(layout)

    @override
    def padding_mask(self, layout: Layout) -> BoolArray:
        return thd.padding_mask(layout)

    @override
    def merge_layouts(self, layouts: Sequence[Layout]) -> Layout:
        return thd.merge_layouts(layouts)

    # Context parallelism ---------------------------------------------------------------------------------------------

    @override
    def partition(self, layout: Layout, world: int, rank: int) -> IntArray:
        return context_parallel.partition(layout, world, rank)

    @override
    def slice_batch(self, batch: ThdBatch, world: int, rank: int) -> ThdBatch:
        return context_parallel.slice_batch(batch, world, rank, self.partition)

    @override
    def gather(self, parts: Sequence[ThdBatch]) -> ThdBatch:
        return context_parallel.gather(parts, self.partition)

    @override
    def local_boundaries(self, layout: Layout, world: int, rank: int) -> IntArray:
        return context_parallel.local_boundaries(layout, world, rank)

    @override
    def all_to_all_order(self, layout: Layout, world: int) -> RankOrder:
        return context_parallel.all_to_all_order(layout, world, self.partition)

    @override
    def rotary_rows(self, layout: Layout, world: int, rank: int, mode: RotaryMode) -> IntArray:
        return rope.rotary_rows(layout, world, rank, mode, self.partition)

    @override
    def rotary_axes(self, positions: IntArray, layout: Layout, world: int, rank: int) -> IntArray:
        return rope.rotary_axes(positions, layout, world, rank, self.partition)

    @override
    def roll(self, values: IntArray, layout: Layout, world: int, depth: int, borders: Borders) -> tuple[IntArray, ...]:
        return mtp.roll(values, layout, world, depth, borders, self.partition)

    # The training step -----------------------------------------------------------------------------------------------

    @override
    def reduce_loss(self, parts: Sequence[LossPart]) -> ReducedLoss:
        return losses.reduce_loss(parts)

    @override
    def schedule(self, lengths: IntArray, ranks: int, limit: int) -> tuple[Group, ...]:
        return scheduling.schedule(lengths, ranks, limit)

    @override
    def balance(self, lengths: IntArray, limit: int, context: int, replicas: int) -> tuple[tuple[int, ...], ...]:
        return scheduling.balance(lengths, limit, context, replicas)

    @override
    def place_batch(self, batch: ThdBatch, grid: Grid, place: Place) -> PlacedBatch:
        return stages.place_batch(batch, grid, place, self.slice_batch, self.sequence_params)

    @override
    def attention(
        self, inputs: AttentionInputs, layout: Layout, world: int, exchange: Exchange, causal: bool
    ) -> AttentionResult:
        with _torch_needed():
            from reference_impl import numerics  # noqa: PLC0415 - torch is optional, and costs seconds
        return numerics.attention_result(
            inputs, layout, world, exchange, causal, self.partition, self.local_boundaries
        )

    @override
    def recurrence(self, inputs: RecurrenceInputs, seq_idx: IntArray) -> RecurrenceResult:
        with _torch_needed():
            from reference_impl import numerics  # noqa: PLC0415 - as above
        return numerics.recurrence_result(inputs, seq_idx)

    @override
    def short_convolution(self, inputs: RecurrenceInputs, seq_idx: IntArray) -> RecurrenceResult:
        with _torch_needed():
            from reference_impl import numerics  # noqa: PLC0415 - as above
        return numerics.short_convolution_result(inputs, seq_idx)

    # Configuration ---------------------------------------------------------------------------------------------------

    @override
    def validate(self, config: TrainingConfig) -> Validation:
        return rules.verdict(rules.check(config, self.release))


@contextmanager
def _torch_needed() -> Iterator[None]:
    """Numerics are *not supported* where torch is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise NotSupported("numerics need torch: install packproof[torch]") from error

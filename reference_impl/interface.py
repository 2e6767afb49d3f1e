"""Every operation that a packing implementation can offer, on plain data.

Three kinds of classes implement it: ``ReferenceImplementation`` (the specification), the bugs of
``properties.museum`` (the reference with one operation broken) and the targets of ``conformance`` (adapters to real
software). Every operation is optional; one that is not overridden is *not supported*.

T is the number of slots of a packed stream, n of its segments, W of CP ranks, B x S the shape of a padded batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, Protocol

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
    PackingMetadata,
    PackingStrategy,
    PackSpec,
)
from reference_impl.errors import NotSupported
from reference_impl.policies import Policies
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


class Op(StrEnum):
    """Operations by the name of their method."""

    ASSIGN_BINS = "assign_bins"
    HISTOGRAM = "histogram"
    PACKING_STRATEGY = "packing_strategy"
    FILL = "fill"
    PAD_DOCUMENT = "pad_document"
    PACK_DOCUMENTS = "pack_documents"
    PREPARE = "prepare"
    PREPARE_TEXT = "prepare_text"
    WRITE_ROWS = "write_rows"
    READ_ROWS = "read_rows"
    EPOCH_ORDER = "epoch_order"
    COLLATE = "collate"
    SEQUENCE_PARAMS = "sequence_params"
    PACK_IN_BATCH = "pack_in_batch"
    VLM_STEP = "vlm_step"
    PAD_LAYOUT = "pad_layout"
    PARTITION = "partition"
    SLICE_BATCH = "slice_batch"
    GATHER = "gather"
    LOCAL_BOUNDARIES = "local_boundaries"
    POSITION_IDS = "position_ids"
    PADDING_MASK = "padding_mask"
    SEQUENCE_INDEX = "sequence_index"
    MERGE_LAYOUTS = "merge_layouts"
    ALL_TO_ALL_ORDER = "all_to_all_order"
    ROTARY_ROWS = "rotary_rows"
    ROTARY_AXES = "rotary_axes"
    ROLL = "roll"
    REDUCE_LOSS = "reduce_loss"
    SCHEDULE = "schedule"
    BALANCE = "balance"
    PLACE_BATCH = "place_batch"
    ATTENTION = "attention"
    RECURRENCE = "recurrence"
    SHORT_CONVOLUTION = "short_convolution"
    VALIDATE = "validate"


@dataclass(frozen=True)
class PreparedFiles:
    """Paths that ``prepare`` wrote.

    Attributes:
        rows: packed rows, readable by ``read_rows``.
        metadata: entries of the metadata file, in file order.
    """

    rows: Path
    metadata: tuple[PackingMetadata, ...]


Record = Mapping[str, str]
"""One instruction-tuning sample: ``input`` and ``output``."""


class Tokenizer(Protocol):
    """What preparing text asks of a tokenizer.

    Attributes:
        eos_id: end of sequence, which closes every document.
        eod: end of document; Bridge pads with it.
    """

    eos_id: int
    eod: int

    def text_to_ids(self, text: str) -> list[int]:
        """Tokens of a text, without special ones."""
        ...


class Implementation:
    """Base of the reference, of museum bugs and of targets: every operation is *not supported*.

    All operations are pure: arguments are never changed, and the same arguments give the same result in any process,
    whatever the ambient random state. Bad input raises ``PackingError`` (targets: a deliberate error of their own,
    see ``properties.law.is_deliberate``), never a wrong result.
    """

    name: ClassVar[str] = "implementation"
    policies: Policies = Policies()

    def operations(self) -> frozenset[Op]:
        """Operations that the class overrides."""
        return frozenset(op for op in Op if getattr(type(self), op.value) is not getattr(Implementation, op.value))

    # Offline packing -------------------------------------------------------------------------------------------------

    def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
        """Assign runtime lengths (n,) to bins of at most ``capacity`` slots.

        Raises:
            PackingError: a length is negative or above ``capacity``, or ``capacity`` is below 1.
        """
        raise NotSupported(Op.ASSIGN_BINS)

    def histogram(self, lengths: IntArray, max_length: int) -> Histogram:
        """Count runtime lengths (n,); those above ``max_length`` are skipped and reported."""
        raise NotSupported(Op.HISTOGRAM)

    def packing_strategy(self, counts: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> PackingStrategy:
        """Bins and metadata for ``counts`` (max_length + 1,), the lengths being taken in ascending order.

        Raises:
            PackingError: ``counts`` holds no document, or one longer than ``capacity``.
        """
        raise NotSupported(Op.PACKING_STRATEGY)

    def fill(
        self, documents: Sequence[Document], bins: Bins, capacity: int, pad_id: int, seed: int
    ) -> tuple[PackedRow, ...]:
        """Put a document of the right length into every place of ``bins``, one row per bin, places in order.

        Raises:
            PackingError: the lengths of ``documents`` and of ``bins`` are not the same multiset, a bin exceeds
                ``capacity``, or a loss mask has another length than its tokens.
        """
        raise NotSupported(Op.FILL)

    def pad_document(self, document: Document, max_length: int, multiple: int | None, pad_id: int) -> Document:
        """Pad the runtime length to the next multiple, or truncate it to the last one within ``max_length``.

        Padding is never a target. The result has L' = R + 1 stored tokens with R % multiple == 0.

        Raises:
            PackingError: no positive multiple fits into ``max_length``, or ``multiple`` is below 1.
        """
        raise NotSupported(Op.PAD_DOCUMENT)

    def pack_documents(self, documents: Sequence[Document], spec: PackSpec) -> PackedDataset:
        """The whole offline path in memory: pad or truncate, assign, fill.

        Raises:
            PackingError: there is no document left to pack, or the overlong policy is to reject and one is overlong.
        """
        raise NotSupported(Op.PACK_DOCUMENTS)

    def prepare(self, documents: Sequence[Document], spec: PackSpec, folder: Path) -> PreparedFiles:
        """The whole offline path to files under ``folder``, which may hold those of an earlier run."""
        raise NotSupported(Op.PREPARE)

    def prepare_text(
        self, records: Sequence[Record], tokenizer: Tokenizer, spec: PackSpec, folder: Path, suffix: str
    ) -> PreparedFiles:
        """``prepare`` from text: records of ``input`` and ``output``, each tokenised and closed with EOS.

        The tokens of the output and EOS are trainable targets. ``suffix`` (``.parquet`` or ``.npy``) chooses the
        format of the rows; EOS and padding ids are the tokenizer's.
        """
        raise NotSupported(Op.PREPARE_TEXT)

    def write_rows(self, rows: Sequence[PackedRow], path: Path) -> None:
        """Write packed rows; the suffix of ``path`` (``.parquet`` or ``.npy``) chooses the format."""
        raise NotSupported(Op.WRITE_ROWS)

    def read_rows(self, path: Path) -> tuple[PackedRow, ...]:
        """Read packed rows.

        Raises:
            PackingError: the file is missing, foreign or half-written.
        """
        raise NotSupported(Op.READ_ROWS)

    # Dataset and collation -------------------------------------------------------------------------------------------

    def epoch_order(self, n_rows: int, n_samples: int, seed: int) -> IntArray:
        """Row of each of ``n_samples`` samples: whole shuffled epochs, the last one cut. Shape (n_samples,)."""
        raise NotSupported(Op.EPOCH_ORDER)

    def collate(self, rows: Sequence[PackedRow], indices: Sequence[int], spec: CollateSpec) -> tuple[ThdBatch, ...]:
        """Open ``rows`` as a packed dataset and collate the samples ``indices`` into one batch each.

        All batches of one call have one width. A negative index is a filler: any row's tokens with zero loss.

        Raises:
            PackingError: a row is wider than ``spec.width``, or static boundaries lack metadata or ``pad_to_width``.
        """
        raise NotSupported(Op.COLLATE)

    # THD boundaries --------------------------------------------------------------------------------------------------

    def sequence_params(self, metadata: BoundaryMetadata) -> SequenceParams:
        """Kernel parameters from a batch's boundaries: sentinels cut, padded arrays only when there is padding."""
        raise NotSupported(Op.SEQUENCE_PARAMS)

    def pack_in_batch(self, batch: PaddedBatch, multiple: int, pad_id: int) -> ThdBatch:
        """Concatenate the real tokens of all rows, each segment padded to ``multiple``.

        Alignment padding holds ``pad_id``, label -100, loss 0 and running positions. A row without a real token
        contributes no segment.
        """
        raise NotSupported(Op.PACK_IN_BATCH)

    def vlm_step(self, batch: PaddedBatch, parallelism: Parallelism) -> ThdBatch:
        """What the VLM training step makes of a micro batch with in-batch packing on; pad id 0.

        The step derives the multiple itself: 2 * CP, or lcm(2 * CP, CP * TP) with sequence parallelism, or 1.
        """
        raise NotSupported(Op.VLM_STEP)

    def pad_layout(self, lengths: IntArray, multiple: int) -> Layout:
        """Boundaries of segments with valid ``lengths`` (n,), each padded to the next multiple.

        Raises:
            PackingError: a length is negative, or ``multiple`` is below 1.
        """
        raise NotSupported(Op.PAD_LAYOUT)

    def sequence_index(self, layout: Layout, total: int) -> IntArray:
        """Segment of each of ``total`` slots (total,); slots beyond the last boundary form one more segment.

        Raises:
            PackingError: ``total`` is below the last boundary.
        """
        raise NotSupported(Op.SEQUENCE_INDEX)

    def position_ids(self, layout: Layout) -> IntArray:
        """Position of each slot inside its segment (T,); padding goes on counting."""
        raise NotSupported(Op.POSITION_IDS)

    def padding_mask(self, layout: Layout) -> BoolArray:
        """True where a slot is padding (T,)."""
        raise NotSupported(Op.PADDING_MASK)

    def merge_layouts(self, layouts: Sequence[Layout]) -> Layout:
        """Boundaries of the streams laid one after another."""
        raise NotSupported(Op.MERGE_LAYOUTS)

    # Context parallelism ---------------------------------------------------------------------------------------------

    def partition(self, layout: Layout, world: int, rank: int) -> IntArray:
        """Slots of CP rank ``rank``, ascending (T / world,): chunks r and 2W - 1 - r of every segment.

        One rank owns all slots, whatever their number.

        Raises:
            PackingError: with several ranks, a segment's slots are not divisible by 2 * world; boundaries decrease or
                do not start at 0; ``rank`` is not in 0..world - 1.
        """
        raise NotSupported(Op.PARTITION)

    def slice_batch(self, batch: ThdBatch, world: int, rank: int) -> ThdBatch:
        """The part of ``batch`` that belongs to one CP rank; ``layout`` and ``max_seqlen`` stay global.

        Raises:
            PackingError: as ``partition``, or the batch is not as long as its boundaries say.
        """
        raise NotSupported(Op.SLICE_BATCH)

    def gather(self, parts: Sequence[ThdBatch]) -> ThdBatch:
        """Inverse of ``slice_batch``: the parts of ranks 0..W-1 in order make the whole batch again."""
        raise NotSupported(Op.GATHER)

    def local_boundaries(self, layout: Layout, world: int, rank: int) -> IntArray:
        """Cumulative *valid* lengths of the segments on one rank (n + 1,).

        Raises:
            PackingError: as ``partition``.
        """
        raise NotSupported(Op.LOCAL_BOUNDARIES)

    def all_to_all_order(self, layout: Layout, world: int) -> RankOrder:
        """The permutations between slots in stream order and slots rank by rank.

        Raises:
            PackingError: as ``partition``.
        """
        raise NotSupported(Op.ALL_TO_ALL_ORDER)

    def rotary_rows(self, layout: Layout, world: int, rank: int, mode: RotaryMode) -> IntArray:
        """Row of the rotary table for each slot of one rank (T / world,).

        Raises:
            PackingError: as ``partition``.
        """
        raise NotSupported(Op.ROTARY_ROWS)

    def rotary_axes(self, positions: IntArray, layout: Layout, world: int, rank: int) -> IntArray:
        """Positions of one rank's slots on every axis (A, T / world), from those of all slots (A, T).

        Raises:
            PackingError: as ``partition``, or there is not one column per slot.
        """
        raise NotSupported(Op.ROTARY_AXES)

    def roll(self, values: IntArray, layout: Layout, world: int, depth: int, borders: Borders) -> tuple[IntArray, ...]:
        """Values (T,) shifted left by ``depth`` inside each segment, 0 where there is no successor, rank by rank.

        The result has one array (T / world,) per rank, for the slots that it owns.

        Raises:
            PackingError: as ``partition``, there is not one value per slot, or ``depth`` is negative.
        """
        raise NotSupported(Op.ROLL)

    # The training step -----------------------------------------------------------------------------------------------

    def reduce_loss(self, parts: Sequence[LossPart]) -> ReducedLoss:
        """Loss per trained token over all micro batches and ranks, with the scale of each part's gradient.

        Raises:
            PackingError: there is no part, losses and weights differ in shape, or a weight is not 0 or 1.
        """
        raise NotSupported(Op.REDUCE_LOSS)

    def schedule(self, lengths: IntArray, ranks: int, limit: int) -> tuple[Group, ...]:
        """Hybrid context parallelism: groups of samples of ``lengths`` (n,), at most ``limit`` slots per rank each.

        CP sizes are powers of two, every sample is padded for its own, and no rank is idle in a group.

        Raises:
            PackingError: a length is negative, ``ranks`` is no power of two, ``limit`` is below 1, or a sample needs
                more ranks than there are.
        """
        raise NotSupported(Op.SCHEDULE)

    def balance(self, lengths: IntArray, limit: int, context: int, replicas: int) -> tuple[tuple[int, ...], ...]:
        """Packs of at most ``limit * context`` tokens, samples in order, their number a multiple of ``replicas``.

        Packs are as few as that allows.

        Raises:
            PackingError: an argument is below 1, a length is negative or above a pack's capacity, or there are too few
                samples for every replica to have one.
        """
        raise NotSupported(Op.BALANCE)

    def place_batch(self, batch: ThdBatch, grid: Grid, place: Place) -> PlacedBatch:
        """What the rank at ``place`` of a pipeline-, tensor- and context-parallel ``grid`` holds of a stream.

        Tokens are on the first stage, labels and loss mask on the last, boundaries on every one.

        Raises:
            PackingError: as ``slice_batch``, or ``place`` lies outside of ``grid``.
        """
        raise NotSupported(Op.PLACE_BATCH)

    def attention(
        self, inputs: AttentionInputs, layout: Layout, world: int, exchange: Exchange, causal: bool
    ) -> AttentionResult:
        """Attention of every document to itself, shared by ``world`` CP ranks, with its gradients.

        Raises:
            PackingError: as ``partition``, an array does not have one entry per slot, or heads do not match.
        """
        raise NotSupported(Op.ATTENTION)

    def recurrence(self, inputs: RecurrenceInputs, seq_idx: IntArray) -> RecurrenceResult:
        """``h[t] = a[t] h[t - 1] + x[t]`` inside every document of ``seq_idx`` (T,), with its gradients."""
        raise NotSupported(Op.RECURRENCE)

    def short_convolution(self, inputs: RecurrenceInputs, seq_idx: IntArray) -> RecurrenceResult:
        """``y[t] = sum_k w[k] x[t - k]`` inside every document of ``seq_idx`` (T,), with its gradients."""
        raise NotSupported(Op.SHORT_CONVOLUTION)

    # Configuration ---------------------------------------------------------------------------------------------------

    def validate(self, config: TrainingConfig) -> Validation:
        """Accept or refuse a configuration before a run starts."""
        raise NotSupported(Op.VALIDATE)

"""Text from packages, packed by the target, as Parquet and NumPy files, for 1, 2 and 4 context-parallel ranks."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from weakref import WeakKeyDictionary

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from properties.claims import holds, same
from properties.law import law
from properties.readings import bins_of, load, metadata_of, pairs_in, trained_pairs
from properties.real_text import mistral_tokenizer, records
from properties.watch import Watched
from reference_impl.batches import CollateSpec, ThdBatch
from reference_impl.documents import Algorithm, Document, IntArray, PackedRow, PackingMetadata, PackSpec
from reference_impl.errors import NotSupported
from reference_impl.interface import Implementation, Op
from reference_impl.reference import ReferenceImplementation
from reference_impl.text import document_of

CAPACITY = 512
NEEDS = {Op.PREPARE_TEXT, Op.READ_ROWS, Op.COLLATE}
SOURCES = ("P-PERM", "P-EQUIV", "bridge-packing 2")
REFERENCE = ReferenceImplementation()

Tokens = tuple[int, ...]

one_rank = st.just(1)
several_ranks = st.sampled_from((2, 4))
all_ranks = st.sampled_from((1, 2, 4))
suffixes = st.sampled_from((".parquet", ".npy"))


@dataclass(frozen=True)
class Packed:
    """What a target made of the text.

    Attributes:
        documents: the text as tokens.
        spec: how it was packed.
        rows: what the packed file holds.
        metadata: what the metadata file says.
    """

    documents: tuple[Document, ...]
    spec: PackSpec
    rows: tuple[PackedRow, ...]
    metadata: tuple[PackingMetadata, ...]

    @property
    def multiple(self) -> int:
        """What every document is padded to."""
        return self.spec.pad_multiple or 1


_made: WeakKeyDictionary[Implementation, dict[tuple[int, str], tuple[Packed, list[ThdBatch]]]] = WeakKeyDictionary()


def packed_by(implementation: Implementation, ranks: int, suffix: str) -> Packed:
    """The text, prepared by a target; made once per target, ranks and format."""
    return _once(implementation, ranks, suffix)[0]


def batches_by(implementation: Implementation, ranks: int, suffix: str) -> list[ThdBatch]:
    """All packed rows, opened by the target's packed dataset and collated; made once."""
    packed, batches = _once(implementation, ranks, suffix)
    if not batches:
        collation = CollateSpec(width=CAPACITY, document_multiple=packed.multiple, eos_id=packed.spec.eos_id)
        batches.extend(implementation.collate(packed.rows, range(len(packed.rows)), collation))
    return batches


def _once(implementation: Implementation, ranks: int, suffix: str) -> tuple[Packed, list[ThdBatch]]:
    target = implementation.inner if isinstance(implementation, Watched) else implementation
    made = _made.setdefault(target, {})
    if (ranks, suffix) not in made:
        made[ranks, suffix] = (_pack(implementation, ranks, suffix), [])
    return made[ranks, suffix]


def _pack(implementation: Implementation, ranks: int, suffix: str) -> Packed:
    tokenizer = mistral_tokenizer()
    if tokenizer is None:
        raise NotSupported("mistral-common, which ships the tokenizer, is not installed")
    spec = PackSpec(
        capacity=CAPACITY,
        algorithm=Algorithm.FIRST_FIT_DECREASING,
        max_length=CAPACITY,
        pad_multiple=2 * ranks if ranks > 1 else 1,  # as Bridge's documentation advises
        pad_id=tokenizer.eod,
        eos_id=tokenizer.eos_id,
    )
    with tempfile.TemporaryDirectory(prefix="packproof-text-") as folder:
        files = implementation.prepare_text(records(), tokenizer, spec, Path(folder), suffix)
        rows = implementation.read_rows(files.rows)
    documents = tuple(document_of(record, tokenizer) for record in records())
    return Packed(documents, spec, rows, files.metadata)


# What the file holds -------------------------------------------------------------------------------------------------


@law("TXT-001", needs=NEEDS, harm="documents of the data set are lost, doubled or mixed up", sources=SOURCES)
@given(ranks=all_ranks, suffix=suffixes)
def test_every_text_is_packed_once(implementation: Implementation, ranks: int, suffix: str) -> None:
    """The packed file holds every document of the text once, and no other."""
    packed = packed_by(implementation, ranks, suffix)
    same(
        Counter(without_padding(segment, packed.spec.eos_id) for segment in segments(packed.rows)),
        Counter(tuple(document.tokens.tolist()) for document in packed.documents),
        "the packed file holds every document once",
    )


def _padded_no_further_than_needed(packed: Packed) -> None:
    expected = REFERENCE.pack_documents(packed.documents, packed.spec).rows
    same(
        Counter(map(len, segments(packed.rows))),
        Counter(map(len, segments(expected))),
        "every document is padded to the next multiple",
    )


@law("TXT-002", needs=NEEDS, harm="slots are wasted on padding", sources=(*SOURCES, "I19"))
@given(ranks=one_rank, suffix=suffixes)
def test_texts_are_not_padded_for_one_rank(implementation: Implementation, ranks: int, suffix: str) -> None:
    """Without context parallelism every document is stored as it is."""
    _padded_no_further_than_needed(packed_by(implementation, ranks, suffix))


@law(
    "TXT-002",
    facet="several ranks",
    needs=NEEDS,
    harm="documents get more padding than their multiple asks for",
    sources=(*SOURCES, "I19", "MB-08", "S11"),
)
@given(ranks=several_ranks, suffix=suffixes)
def test_texts_are_padded_no_further_than_ranks_need(implementation: Implementation, ranks: int, suffix: str) -> None:
    """Every document is stored with the padding that its multiple asks for, and no more."""
    _padded_no_further_than_needed(packed_by(implementation, ranks, suffix))


@law("TXT-003", needs=NEEDS, harm="a row is wider than the buffers", sources=(*SOURCES, "P-CAP"))
@given(ranks=all_ranks, suffix=suffixes)
def test_no_pack_of_text_exceeds_the_capacity(implementation: Implementation, ranks: int, suffix: str) -> None:
    """No row holds more slots than a pack may."""
    fullest = max(map(load, packed_by(implementation, ranks, suffix).rows))
    holds(fullest <= CAPACITY, "no row is fuller than its capacity", got=fullest, expected=CAPACITY)


@law("TXT-004", needs=NEEDS, harm="static boundaries and FLOP figures are wrong", sources=(*SOURCES, "P-STAT"))
@given(ranks=all_ranks, suffix=suffixes)
def test_metadata_of_text_say_what_the_rows_are(implementation: Implementation, ranks: int, suffix: str) -> None:
    """The metadata file has one entry, with the statistics of the rows."""
    packed = packed_by(implementation, ranks, suffix)
    same(packed.metadata, (metadata_of(bins_of(packed.rows), CAPACITY),), "the metadata describe the rows")


# What a step trains on -----------------------------------------------------------------------------------------------


@law(
    "TXT-005", needs=NEEDS, harm="prompts or padding are trained on, or answers are not", sources=(*SOURCES, "P-MASK")
)
@given(ranks=all_ranks, suffix=suffixes)
def test_exactly_the_answers_are_trained(implementation: Implementation, ranks: int, suffix: str) -> None:
    """Over all batches, each token of an answer is a target once, after the token before it, and no other is."""
    packed = packed_by(implementation, ranks, suffix)
    batches = batches_by(implementation, ranks, suffix)
    same(pairs_in(batches), trained_pairs(packed.documents), "exactly the tokens of answers are trained")


@law("TXT-006", needs=NEEDS, harm="labels leak across documents", sources=(*SOURCES, "P-ALIGN"))
@given(ranks=all_ranks, suffix=suffixes)
def test_labels_of_text_are_the_next_tokens(implementation: Implementation, ranks: int, suffix: str) -> None:
    """Inside every segment the labels are its tokens shifted by one."""
    for batch in batches_by(implementation, ranks, suffix):
        holds(batch.labels is not None, "the batch has labels")
        for tokens, labels in zip(by_segment(batch, batch.tokens), by_segment(batch, batch.labels), strict=True):
            same(labels[:-1], tokens[1:], "a label is the next token of its document")


@law("TXT-007", needs=NEEDS, harm="a document's positions depend on its neighbours", sources=(*SOURCES, "P-POS"))
@given(ranks=all_ranks, suffix=suffixes)
def test_positions_of_text_restart_at_every_document(implementation: Implementation, ranks: int, suffix: str) -> None:
    """Positions count from 0 in every segment that holds a document."""
    packed = packed_by(implementation, ranks, suffix)
    for row, batch in zip(packed.rows, batches_by(implementation, ranks, suffix), strict=True):
        for positions in list(by_segment(batch, batch.position_ids))[: row.starts.size]:
            same(positions, np.arange(len(positions)), "positions count from 0 in every document")


@law("TXT-008", needs=NEEDS, harm="attention reads padding, or misses tokens", sources=(*SOURCES, "P-BOUND", "MB-14"))
@given(ranks=all_ranks, suffix=suffixes)
def test_boundaries_of_text_are_those_of_the_documents(
    implementation: Implementation, ranks: int, suffix: str
) -> None:
    """Valid boundaries count the real slots of every document, and none of its padding."""
    packed = packed_by(implementation, ranks, suffix)
    for row, batch in zip(packed.rows, batches_by(implementation, ranks, suffix), strict=True):
        real = [len(without_padding(segment, packed.spec.eos_id)) - 1 for segment in segments([row])]
        same(np.diff(batch.layout.valid)[: len(real)], np.array(real), "valid boundaries count real slots")


# Context parallelism -------------------------------------------------------------------------------------------------


@law("TXT-009", needs=NEEDS, harm="a CP kernel duplicates and loses tokens", sources=(*SOURCES, "P-PADDED"))
@given(ranks=all_ranks, suffix=suffixes)
def test_every_boundary_of_text_can_be_cut_for_every_rank(
    implementation: Implementation, ranks: int, suffix: str
) -> None:
    """Every segment has a number of slots that 2 * CP divides."""
    packed = packed_by(implementation, ranks, suffix)
    for batch in batches_by(implementation, ranks, suffix):
        same(batch.layout.padded % packed.multiple, np.zeros_like(batch.layout.padded), "boundaries are multiples")
        same(batch.layout.padded[-1], batch.tokens.size, "the last boundary is the end of the stream")


@law("TXT-010", needs=NEEDS, harm="CP ranks train on another part of a document", sources=(*SOURCES, "P-CPPART", "I2"))
@given(ranks=all_ranks, suffix=suffixes)
def test_each_rank_holds_its_two_chunks_of_every_text(implementation: Implementation, ranks: int, suffix: str) -> None:
    """Cut by the reference, a batch gives rank r the chunks r and 2W - 1 - r of every stored document."""
    packed = packed_by(implementation, ranks, suffix)
    for row, batch in zip(packed.rows, batches_by(implementation, ranks, suffix), strict=True):
        for rank in range(ranks):
            expected = [token for segment in segments([row]) for token in _two_chunks(segment[:-1], ranks, rank)]
            got = batch.tokens[REFERENCE.partition(batch.layout, ranks, rank)].tolist()
            same(got[: len(expected)], expected, "a rank holds its chunks of every document, in order")


def _two_chunks(inputs: Tokens, ranks: int, rank: int) -> Tokens:
    if ranks == 1:
        return inputs
    holds(len(inputs) % (2 * ranks) == 0, "a document can be cut into two chunks per rank", got=len(inputs))
    size = len(inputs) // (2 * ranks)
    mirror = 2 * ranks - 1 - rank
    return inputs[rank * size : (rank + 1) * size] + inputs[mirror * size : (mirror + 1) * size]


# Readings ------------------------------------------------------------------------------------------------------------


def segments(rows: Sequence[PackedRow]) -> list[Tokens]:
    """Stored tokens of every segment."""
    return [
        tuple(row.tokens[start:end].tolist())
        for row in rows
        for start, end in pairwise([*row.starts, row.tokens.size])
    ]


def without_padding(segment: Tokens, eos_id: int) -> Tokens:
    """A segment up to its first EOS: text holds none of its own."""
    return segment[: segment.index(eos_id) + 1] if eos_id in segment else segment


def by_segment(batch: ThdBatch, values: IntArray | None) -> Iterator[IntArray]:
    """The part of each segment."""
    yield from np.split(np.asarray(values), batch.layout.padded[1:-1])

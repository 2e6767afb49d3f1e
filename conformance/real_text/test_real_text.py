"""Text from packages, packed by the target, as Parquet and NumPy files, for 1, 2 and 4 context-parallel ranks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest

from conformance.real_text.text import records
from conformance.real_text.tokenizer import MistralTokenizer, mistral_tokenizer
from properties.claims import holds, same
from properties.readings import bins_of, load, metadata_of, pairs_in, trained_pairs
from reference_impl.batches import CollateSpec, ThdBatch
from reference_impl.documents import Algorithm, Document, IntArray, PackedRow, PackingMetadata, PackSpec
from reference_impl.interface import Implementation, PreparedFiles
from reference_impl.reference import ReferenceImplementation

CAPACITY = 512
REFERENCE = ReferenceImplementation()

Tokens = tuple[int, ...]


@dataclass(frozen=True)
class Packed:
    """What a target made of the text.

    Attributes:
        ranks: CP ranks that it was prepared for.
        documents: the text as tokens.
        rows: what the packed file holds.
        metadata: what the metadata file says.
        batches: all rows, collated.
        reference: what the reference makes of the same documents.
        eos_id: end of every document.
    """

    ranks: int
    documents: tuple[Document, ...]
    rows: tuple[PackedRow, ...]
    metadata: tuple[PackingMetadata, ...]
    batches: tuple[ThdBatch, ...]
    reference: tuple[PackedRow, ...]
    eos_id: int

    @property
    def multiple(self) -> int:
        """What every document is padded to."""
        return multiple_for(self.ranks)


def multiple_for(ranks: int) -> int:
    """2 * CP, as Bridge's documentation advises; nothing is padded without context parallelism."""
    return 2 * ranks if ranks > 1 else 1


@pytest.fixture(scope="session")
def prepare_text(implementation: Implementation) -> Callable[..., PreparedFiles]:
    """The target's preparation of text."""
    found: Callable[..., PreparedFiles] | None = getattr(implementation, "prepare_text", None)
    if found is None:
        pytest.skip("not supported: the target has no prepare_text")
    return found


@pytest.fixture(scope="session")
def tokenizer() -> MistralTokenizer:
    """A real tokenizer."""
    found = mistral_tokenizer()
    if found is None:
        pytest.skip("not supported: mistral-common, which ships the tokenizer, is not installed")
    return found


@pytest.fixture(scope="session")
def documents(tokenizer: MistralTokenizer) -> tuple[Document, ...]:
    """The text as tokens, each with EOS at its end."""
    made: list[Document] = []
    for record in records():
        prompt, answer = (tokenizer.text_to_ids(record[key]) for key in ("input", "output"))
        tokens = np.array([*prompt, *answer, tokenizer.eos_id], dtype=np.int64)
        made.append(Document(tokens, answer_start=len(prompt)))
    assert len(made) >= 50, "too little text to say anything"
    return tuple(made)


@pytest.fixture(scope="session", params=[1, 2, 4], ids=lambda ranks: f"cp{ranks}")
def ranks(request: pytest.FixtureRequest) -> int:
    """CP ranks."""
    return request.param


@pytest.fixture(scope="session", params=[".idx.parquet", ".npy"], ids=["parquet", "npy"])
def packed(
    request: pytest.FixtureRequest,
    prepare_text: Callable[..., PreparedFiles],
    implementation: Implementation,
    tokenizer: MistralTokenizer,
    documents: tuple[Document, ...],
    ranks: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> Packed:
    """The text, prepared by the target and opened by its packed dataset."""
    spec = PackSpec(
        capacity=CAPACITY,
        algorithm=Algorithm.FIRST_FIT_DECREASING,
        max_length=CAPACITY,
        pad_multiple=multiple_for(ranks),
        pad_id=tokenizer.eod,
        eos_id=tokenizer.eos_id,
    )
    files = prepare_text(records(), tokenizer, spec, tmp_path_factory.mktemp("packed"), request.param)
    rows = implementation.read_rows(files.rows)
    collation = CollateSpec(width=CAPACITY, document_multiple=spec.pad_multiple, eos_id=spec.eos_id)
    return Packed(
        ranks=ranks,
        documents=documents,
        rows=rows,
        metadata=files.metadata,
        batches=implementation.collate(rows, range(len(rows)), collation),
        reference=REFERENCE.pack_documents(documents, spec).rows,
        eos_id=spec.eos_id,
    )


# What the file holds -------------------------------------------------------------------------------------------------


def test_every_document_is_packed_once(packed: Packed) -> None:
    """The packed file holds every document of the text once, and no other."""
    same(
        Counter(without_padding(segment, packed.eos_id) for segment in segments(packed.rows)),
        Counter(tuple(document.tokens.tolist()) for document in packed.documents),
        "the packed file holds every document once",
    )


def test_documents_are_padded_no_further_than_needed(packed: Packed) -> None:
    """Every document is stored with the padding that its multiple asks for, and no more."""
    same(
        Counter(map(len, segments(packed.rows))),
        Counter(map(len, segments(packed.reference))),
        "every document is padded to the next multiple",
    )


def test_no_pack_exceeds_the_capacity(packed: Packed) -> None:
    """No row holds more slots than a pack may."""
    fullest = max(map(load, packed.rows))
    holds(fullest <= CAPACITY, "no row is fuller than its capacity", got=fullest, expected=CAPACITY)


def test_metadata_says_what_the_rows_are(packed: Packed) -> None:
    """The metadata file has one entry, with the statistics of the rows."""
    same(packed.metadata, (metadata_of(bins_of(packed.rows), CAPACITY),), "the metadata describes the rows")


# What a step trains on -----------------------------------------------------------------------------------------------


def test_exactly_the_answers_are_trained(packed: Packed) -> None:
    """Over all batches, each token of an answer is a target once, after the token before it, and no other is."""
    same(pairs_in(packed.batches), trained_pairs(packed.documents), "exactly the tokens of answers are trained")


def test_labels_are_the_next_tokens_of_their_document(packed: Packed) -> None:
    """Inside every segment the labels are its tokens shifted by one."""
    for batch in packed.batches:
        for tokens, labels in zip(
            *(by_segment(batch, values) for values in (batch.tokens, batch.labels)), strict=True
        ):
            same(labels[:-1], tokens[1:], "a label is the next token of its document")


def test_positions_restart_at_every_document(packed: Packed) -> None:
    """Positions count from 0 in every segment that holds a document."""
    for row, batch in zip(packed.rows, packed.batches, strict=True):
        positions = list(by_segment(batch, batch.position_ids))
        for values in positions[: row.starts.size]:
            same(values, np.arange(len(values)), "positions count from 0 in every document")


def test_boundaries_are_those_of_the_documents(packed: Packed) -> None:
    """Valid boundaries count the real slots of every document, and none of its padding."""
    for row, batch in zip(packed.rows, packed.batches, strict=True):
        real = [len(without_padding(segment, packed.eos_id)) - 1 for segment in segments([row])]
        same(np.diff(batch.layout.valid)[: len(real)], np.array(real), "valid boundaries count real slots")


# Context parallelism -------------------------------------------------------------------------------------------------


def test_every_boundary_can_be_cut_for_every_rank(packed: Packed) -> None:
    """Every segment has a number of slots that 2 * CP divides."""
    for batch in packed.batches:
        same(batch.layout.padded % packed.multiple, np.zeros_like(batch.layout.padded), "boundaries are multiples")


def test_ranks_together_hold_the_stream_once(packed: Packed) -> None:
    """The slices of all CP ranks hold every slot of every batch once."""
    for batch in packed.batches:
        parts = [REFERENCE.slice_batch(batch, packed.ranks, rank) for rank in range(packed.ranks)]
        whole = REFERENCE.gather(parts)
        for name in ("tokens", "labels", "loss_mask", "position_ids"):
            same(getattr(whole, name), getattr(batch, name), f"the {name} of all ranks make the stream")


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
    holds(values is not None, "the batch has labels")
    yield from np.split(np.asarray(values), batch.layout.padded[1:-1])

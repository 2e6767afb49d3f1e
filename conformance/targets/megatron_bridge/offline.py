"""Offline packing: bin packing, tokenisation and preparation (``Part.ALGORITHMS``, ``TOKENIZE``, ``PREPARE``).

Bridge's packing functions take no seed: they draw from NumPy's global state, which this adapter leaves alone. The
``seed`` of an operation therefore reaches only what Bridge passes it to; from 0.6 on, the preparation seeds itself.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from conformance.targets.megatron_bridge.places import Part, part, place
from conformance.targets.megatron_bridge.rows import from_record, read_rows
from conformance.targets.megatron_bridge.tokenizer import TokenIds
from conformance.targets.modules import bridge, to_tensor, torch
from reference_impl.documents import (
    Algorithm,
    Bins,
    Document,
    Histogram,
    IntArray,
    Overlong,
    PackedDataset,
    PackedRow,
    PackingMetadata,
    PackingStrategy,
    PackSpec,
)
from reference_impl.errors import Inexpressible
from reference_impl.interface import PreparedFiles

UNLIMITED = PackSpec.max_length
LONGEST = 2**24
"""Bridge counts lengths in a list as long as the limit; beyond this it only costs memory."""


def assign_bins(lengths: IntArray, capacity: int, algorithm: Algorithm) -> Bins:
    """Bins by the packing function of that name."""
    packer = getattr(part(Part.ALGORITHMS), _known(algorithm))
    return _bins(packer(lengths.tolist(), capacity))


def histogram(lengths: IntArray, max_length: int) -> Histogram:
    """``create_hist`` over samples of these lengths, whose tokens it only counts."""
    samples = [{"input_ids": range(length + 1)} for length in lengths.tolist()]
    _, counts = part(Part.ALGORITHMS).create_hist(samples, max_length)
    return Histogram(np.array(counts, dtype=np.int64), skipped=len(samples) - sum(counts))


def packing_strategy(counts: IntArray, capacity: int, algorithm: Algorithm) -> PackingStrategy:
    """``create_packing_strategy``."""
    make = part(Part.ALGORITHMS).create_packing_strategy
    bins, metadata = make(counts.tolist(), capacity, _known(algorithm))
    return PackingStrategy(_bins(bins), PackingMetadata(**metadata))


def fill(documents: Sequence[Document], bins: Bins, capacity: int, pad_id: int) -> tuple[PackedRow, ...]:
    """``create_hist``, with a limit that keeps every document, and ``fill_packing_strategy``."""
    packing = part(Part.ALGORITHMS)
    longest = max((len(document.tokens) for document in documents), default=0)
    sequences, _ = packing.create_hist([_sample(document) for document in documents], max(longest, capacity))
    rows = packing.fill_packing_strategy([list(lengths) for lengths in bins], sequences, capacity, pad_id)
    return tuple(from_record(row) for row in rows)


def pad_document(document: Document, max_length: int, multiple: int | None, pad_id: int) -> Document:
    """``tokenize_dataset`` on a dataset of one document."""
    tokenizer = TokenIds(eos_id=pad_id, eod=pad_id)
    with _as_unpacked_dataset([document]) as settings:
        [sample] = part(Part.TOKENIZE)(
            Path("documents.jsonl"),
            tokenizer,
            _limit(max_length, max_length),
            seed=0,
            pad_seq_to_mult=multiple,
            **_one_worker(),
            **settings,
        )
    return _document(sample)


def pack_documents(documents: Sequence[Document], spec: PackSpec, folder: Path, suffix: str) -> PackedDataset:
    """``prepare`` in an empty folder, read back; Bridge keeps no ledger."""
    files = prepare(documents, spec, folder, suffix)
    return PackedDataset(read_rows(files.rows), files.metadata[-1])


def prepare(documents: Sequence[Document], spec: PackSpec, folder: Path, suffix: str) -> PreparedFiles:
    """Prepare a dataset of these documents."""
    longest = max((len(document.tokens) - 1 for document in documents), default=0)
    if spec.overlong is not Overlong.TRUNCATE and longest > min(spec.max_length, spec.capacity):
        raise Inexpressible("Megatron Bridge has no setting for what becomes of overlong documents")
    tokenizer = TokenIds(eos_id=spec.eos_id, eod=spec.pad_id)
    with _as_unpacked_dataset(documents) as settings:
        return _run(Path("documents.jsonl"), tokenizer, spec, folder, suffix, **settings)


def prepare_text(text: Path, tokenizer: object, spec: PackSpec, folder: Path, suffix: str) -> PreparedFiles:
    """Prepare ``text``, which Bridge opens and tokenises itself, in this process."""
    if not takes_builder():
        return _run(text, tokenizer, spec, folder, suffix, dataset_kwargs={"memmap_workers": 1})
    build = part(Part.OPEN_DATASET)

    def build_here(path: Path, **settings: Any) -> object:
        return build(path, **(settings | {"memmap_workers": 1}))

    return _run(text, tokenizer, spec, folder, suffix, dataset_builder=build_here)


def takes_builder() -> bool:
    """Whether preparation is told how to open the dataset; before 0.6 it always called one function."""
    return "dataset_builder" in inspect.signature(part(Part.PREPARE)).parameters


def _run(
    text: Path, tokenizer: object, spec: PackSpec, folder: Path, suffix: str, **settings: object
) -> PreparedFiles:
    """Prepare, to the file names of Bridge's own dataset builder."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = folder / f"training_{spec.capacity}{suffix}"
    metadata = folder / f"{spec.capacity}_metadata.jsonl"
    part(Part.PREPARE)(
        text,
        rows,
        metadata,
        spec.capacity,
        tokenizer,
        _limit(spec.max_length, spec.capacity),
        seed=spec.seed,
        packing_algorithm=_known(spec.algorithm),
        pad_seq_to_mult=spec.pad_multiple,
        **_one_worker(),
        **settings,
    )
    return PreparedFiles(rows, tuple(PackingMetadata(**entry) for entry in json.loads(metadata.read_text())))


def _known(algorithm: Algorithm) -> str:
    """Bridge's name of an algorithm, if the release has it; Bridge itself would fail with a bare ``KeyError``."""
    if not hasattr(part(Part.ALGORITHMS), algorithm.value):
        raise Inexpressible(f"this Megatron Bridge has no {algorithm.value}")
    return algorithm.value


def _limit(max_length: int, otherwise: int) -> int:
    """Bridge's ``max_seq_length``, which must be a number."""
    limit = otherwise if max_length == UNLIMITED else max_length
    if limit > LONGEST:
        raise Inexpressible(f"Megatron Bridge would count lengths up to {limit} one by one")
    return limit


def _one_worker() -> dict[str, int]:
    """Tokenise in this process, where the release has a choice."""
    parameters = inspect.signature(part(Part.TOKENIZE)).parameters
    return {"num_tokenizer_workers": 1} if "num_tokenizer_workers" in parameters else {}


def _bins(bins: Any) -> Bins:
    return tuple(tuple(int(length) for length in lengths) for lengths in bins)


# Documents as samples of the unpacked dataset ------------------------------------------------------------------------


class _UnpackedDataset:
    """What ``tokenize_dataset`` asks of the dataset that it tokenises."""

    def __init__(
        self,
        samples: Sequence[dict[str, Any]],
        tokenizer: object,
        seq_length: int,
        pad_seq_length_to_mult: int,
    ) -> None:
        self._samples = samples
        self.tokenizer = tokenizer
        self.max_seq_length = seq_length
        self.pad_seq_length_to_mult = pad_seq_length_to_mult

    def __len__(self) -> int:
        return len(self._samples)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return self._samples[index]


@contextmanager
def _as_unpacked_dataset(documents: Sequence[Document]) -> Iterator[dict[str, Any]]:
    """Let preparation find ``documents`` where it would open and tokenise a file of text.

    Yields:
        What preparation must be told for that.
    """
    samples = [_sample(document) for document in documents]

    def create(*_path: Path, tokenizer: object, seq_length: int, **settings: Any) -> _UnpackedDataset:
        multiple = (settings | settings.get("dataset_kwargs", {})).get("pad_seq_length_to_mult", 16)
        return _UnpackedDataset(samples, tokenizer, seq_length, multiple)

    if takes_builder():
        yield {"dataset_builder": create}
        return
    opener = bridge(place(Part.TOKENIZE).partition(":")[0])
    with mock.patch.object(opener, "create_sft_dataset", create):
        yield {}


def _sample(document: Document) -> dict[str, Any]:
    """One document as Bridge's unpacked datasets give it.

    One with a loss mask has the form of ``GPTSFTChatDataset`` (tensors), one with ``answer_start`` that of
    ``GPTSFTDataset`` (lists). The latter shortens prompts before packing sees them, so that only the former really
    gives documents that are too long.
    """
    if document.loss_mask is not None:
        tokens = to_tensor(document.tokens)
        mask = torch().from_numpy(np.array(document.loss_mask, dtype=np.bool_))
        return {
            "input_ids": tokens,
            "loss_mask": mask,
            "context_ids": tokens[:0],
            "answer_ids": tokens,
            "metadata": {},
        }
    tokens = document.tokens.tolist()
    sample: dict[str, Any] = {"input_ids": tokens, "metadata": {}, "token_count": len(tokens)}
    if document.answer_start is not None:
        start = document.answer_start
        sample |= {
            "answer_start_idx": start,
            "context_ids": tokens[:start],
            "context_length": len(tokens[:start]),
            "answer_ids": tokens[start:],
        }
    return sample


def _document(sample: dict[str, Any]) -> Document:
    """The document in a sample; Bridge does not record how much of it is padding."""
    mask = sample.get("loss_mask")
    return Document(
        tokens=np.array(sample["input_ids"], dtype=np.int64),
        loss_mask=None if mask is None else np.array(mask, dtype=np.bool_),
        answer_start=sample.get("answer_start_idx"),
    )

"""The life of packed data: prepared, prepared again, saved, loaded, trained on, resumed, on any number of ranks.

    prepare 3 documents        folder a: rows of generation 1
    prepare 2 more elsewhere   folders a and b, one data set, metadata of both
    train 4 samples on 2 ranks, each with 2 loader workers
    save as .npy               folder a's rows move to another format
    resume at sample 1         on 1 rank: samples 1, 2, 3 again, the same documents as before
    prepare folder a anew      generation 2: nothing of generation 1 may be seen again

Whatever the order of these steps, every whole epoch trains each document of the data set exactly once, with all its
tokens, and no sample depends on how the samples are dealt to ranks and workers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import override

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from properties.claims import holds, same
from properties.readings import ambient_random, bins_of, metadata_of
from properties.strategies.documents import identity
from properties.strategies.lengths import seeds
from reference_impl.batches import CollateSpec, ThdBatch
from reference_impl.documents import Algorithm, Document, PackedRow, PackingMetadata, PackSpec
from reference_impl.interface import Implementation, Op

NEEDS = frozenset({Op.PREPARE, Op.READ_ROWS, Op.WRITE_ROWS, Op.COLLATE})
"""Operations that the machine calls."""

CAPACITY = 12
EPOCHS = 3
EOS = 0
FOLDERS = ("a", "b")
SUFFIXES = (".parquet", ".npy")

Trained = tuple[tuple[int, ...], ...]
"""Input tokens of the documents of one sample, in order."""


@dataclass
class _Stored:
    """One prepared folder.

    Attributes:
        rows: the file of its rows.
        metadata: what the preparation returned.
        documents: input tokens of the documents that it must hold.
    """

    rows: Path
    metadata: tuple[PackingMetadata, ...]
    documents: list[tuple[int, ...]]


class LifeCycle(RuleBasedStateMachine):
    """One data set and one training run on it.

    Args:
        make: makes the implementation, anew for every process of the run.
    """

    def __init__(self, make: Callable[[], Implementation]) -> None:
        super().__init__()
        self._make = make
        self._implementation = make()
        self._temporary = TemporaryDirectory()
        self._generation = 0
        self._stored: dict[str, _Stored] = {}
        self._rows: tuple[PackedRow, ...] = ()
        self._seed = 1234
        self._ranks, self._workers = 1, 1
        self._seen: list[Trained] = []

    @override
    def teardown(self) -> None:
        self._temporary.cleanup()

    # Data ------------------------------------------------------------------------------------------------------------

    @initialize(lengths=st.lists(st.integers(1, CAPACITY), min_size=1, max_size=6), seed=seeds)
    def first_preparation(self, lengths: list[int], seed: int) -> None:
        """There is always a data set."""
        self._prepare("a", lengths, seed)

    @rule(
        folder=st.sampled_from(FOLDERS),
        lengths=st.lists(st.integers(1, CAPACITY), min_size=1, max_size=6),
        seed=seeds,
    )
    def prepare(self, folder: str, lengths: list[int], seed: int) -> None:
        """Prepare other documents, perhaps over older files; training begins anew."""
        self._prepare(folder, lengths, seed)

    @rule(folder=st.sampled_from(FOLDERS), suffix=st.sampled_from(SUFFIXES))
    def save(self, folder: str, suffix: str) -> None:
        """Keep the rows of a folder in another file and format; what was trained stays what it was."""
        if folder not in self._stored:
            return
        stored = self._stored[folder]
        path = stored.rows.with_name(f"saved-{self._generation}{suffix}")
        self._implementation.write_rows(self._implementation.read_rows(stored.rows), path)
        stored.rows = path
        self._load()

    def _prepare(self, folder: str, lengths: Sequence[int], seed: int) -> None:
        self._generation += 1
        documents = [_document(10 * self._generation + number, length) for number, length in enumerate(lengths)]
        spec = PackSpec(CAPACITY, Algorithm.FIRST_FIT_SHUFFLE, pad_id=EOS, eos_id=EOS, seed=seed)
        path = Path(self._temporary.name) / folder
        files = self._implementation.prepare(documents, spec, path)
        inputs = [tuple(document.tokens[:-1].tolist()) for document in documents]
        self._stored[folder] = _Stored(files.rows, files.metadata, inputs)
        self._seed = seed
        self._seen = []
        self._load()

    def _load(self) -> None:
        """Read all folders, as a process that starts does."""
        self._implementation = self._make()
        read = [self._implementation.read_rows(self._stored[folder].rows) for folder in sorted(self._stored)]
        self._rows = tuple(row for rows in read for row in rows)

    # Training --------------------------------------------------------------------------------------------------------

    @rule(ranks=st.integers(1, 3), workers=st.integers(1, 3))
    def change_parallelism(self, ranks: int, workers: int) -> None:
        """Go on with other numbers of data-parallel ranks and loader workers."""
        self._ranks, self._workers = ranks, workers

    @rule(steps=st.integers(1, 5), ambient=st.integers(0, 5))
    def train(self, steps: int, ambient: int) -> None:
        """Take the next samples: ranks take turns, and on each rank its workers do."""
        first = len(self._seen)
        samples = range(first, min(first + steps * self._ranks, self._n_samples))
        found: dict[int, Trained] = {}
        for rank in range(self._ranks):
            on_rank = samples[rank :: self._ranks]
            for worker in range(self._workers):
                own = on_rank[worker :: self._workers]
                if worker % 2:  # a loader may fetch ahead, in any order
                    own = own[::-1]
                with ambient_random(ambient + worker):
                    found |= zip(own, self._trained(own), strict=True)
        self._seen += [found[sample] for sample in samples]

    @precondition(lambda self: self._seen)
    @rule(data=st.data())
    def resume(self, data: st.DataObject) -> None:
        """Start again from an earlier sample; the samples after it are those of the first time."""
        position = data.draw(st.integers(0, len(self._seen) - 1), label="sample")
        self._load()
        again = self._trained(range(position, len(self._seen)))
        same(again, self._seen[position:], f"the samples from {position} on are the same after a resume")
        self._seen = self._seen[:position]

    @property
    def _n_samples(self) -> int:
        return EPOCHS * len(self._rows)

    def _trained(self, samples: Sequence[int]) -> list[Trained]:
        if not samples:
            return []
        metadata = tuple(entry for folder in sorted(self._stored) for entry in self._stored[folder].metadata)
        spec = CollateSpec(
            CAPACITY, static_boundaries=True, metadata=metadata, n_samples=self._n_samples, seed=self._seed
        )
        return [_documents_in(batch) for batch in self._implementation.collate(self._rows, list(samples), spec)]

    # What must hold --------------------------------------------------------------------------------------------------

    @invariant()
    def the_files_hold_the_documents(self) -> None:
        """The rows of all folders hold every document of their last preparation once, and nothing else."""
        held = sorted(tuple(document[:-1]) for row in self._rows for document in _stored_documents(row))
        wanted = sorted(document for stored in self._stored.values() for document in stored.documents)
        same(held, wanted, "the rows hold the documents of the last preparations, each once")

    @invariant()
    def the_metadata_describe_the_files(self) -> None:
        """Every folder has one metadata entry, which is that of its rows."""
        for stored in self._stored.values():
            bins = bins_of(self._implementation.read_rows(stored.rows))
            same(
                stored.metadata, (metadata_of(bins, CAPACITY),), "the metadata have one entry, for the rows there are"
            )

    @invariant()
    def every_epoch_trains_every_document_once(self) -> None:
        """Nothing is lost in a whole epoch, and nothing is seen twice in any."""
        wanted = sorted(document for stored in self._stored.values() for document in stored.documents)
        size = max(len(self._rows), 1)
        for start in range(0, len(self._seen), size):
            epoch = self._seen[start : start + size]
            found = sorted(document for sample in epoch for document in sample)
            if len(epoch) == size:
                same(found, wanted, "a whole epoch trains every document once")
            holds(len(set(found)) == len(found), "no document is trained on twice in an epoch", got=found)


def life_cycle_of(make: Callable[[], Implementation]) -> Callable[[], LifeCycle]:
    """The machine for an implementation, as ``run_state_machine_as_test`` takes it."""
    return lambda: LifeCycle(make)


def _document(number: int, length: int) -> Document:
    """A document whose tokens name it; every target is trained on."""
    tokens = identity(number, 0) + np.arange(length + 1, dtype=np.int64)
    tokens[-1] = EOS
    return Document(tokens, answer_start=0)


def _stored_documents(row: PackedRow) -> list[list[int]]:
    bounds = [*row.starts.tolist(), row.tokens.size]
    return [row.tokens[start:end].tolist() for start, end in pairwise(bounds)]


def _documents_in(batch: ThdBatch) -> Trained:
    """Input tokens of the segments of a batch that train something."""
    weights = batch.loss_mask
    holds(weights is not None, "a collated batch has a loss mask")
    found: list[tuple[int, ...]] = []
    for start, end in pairwise(batch.layout.padded.tolist()):
        if end > start and np.asarray(weights)[start:end].any():
            found.append(tuple(batch.tokens[start:end].tolist()))
    return tuple(found)

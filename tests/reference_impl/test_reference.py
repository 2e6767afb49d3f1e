"""The interface, and that a broken operation breaks what is built on it."""

from __future__ import annotations

import inspect
import json
import pickle
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import override

import numpy as np
import pytest

import reference_impl
from reference_impl.batches import BoundaryMetadata, CollateSpec, Layout, PaddedBatch, Parallelism, ThdBatch
from reference_impl.config import TrainingConfig
from reference_impl.documents import Algorithm, Bins, Document, IntArray, PackedDataset, PackedRow, PackSpec
from reference_impl.errors import NotSupported, PackingError
from reference_impl.interface import Implementation, Op
from reference_impl.ranks import AttentionInputs, Borders, Exchange, Grid, Place, RecurrenceInputs, RotaryMode
from reference_impl.reference import ReferenceImplementation

REFERENCE = ReferenceImplementation()
DOCUMENTS = [Document(np.arange(10 * n, 10 * n + n + 2), answer_start=1) for n in range(1, 6)]
STREAM = ThdBatch(np.arange(8), None, None, np.arange(8), Layout(np.array([0, 8]), np.array([0, 8])), 8)
PADDED_BATCH = PaddedBatch(np.array([[5, 6, 7, 0]]), None, None, np.array([[0, 1, 2, 3]]))
HEADS = AttentionInputs(*(np.ones((8, 1, 2)) for _ in range(4)))
CHANNELS = RecurrenceInputs(*(np.ones((8, 2)) for _ in range(3)))
ROW = PackedRow(np.array([5, 6, 7, 8, 9]), np.array([1, 1, 0, 1, 0], dtype=np.bool_), np.array([0, 3]))


class Broken(Exception):
    """An overridden operation was reached."""


def broken(*operations: Op) -> ReferenceImplementation:
    """The reference with operations that raise."""

    def method(_: ReferenceImplementation, *_arguments: object) -> None:
        raise Broken

    return type("BrokenReference", (ReferenceImplementation,), {op.value: method for op in operations})()


def test_the_reference_offers_every_operation() -> None:
    assert REFERENCE.operations() == frozenset(Op)


def test_the_base_offers_none_and_says_so() -> None:
    base = Implementation()
    assert base.operations() == frozenset()
    for op in Op:
        method: Callable[..., object] = getattr(base, op.value)
        arguments = [None] * len(inspect.signature(method).parameters)
        with pytest.raises(NotSupported, match=op.value):
            method(*arguments)


NUMERICS: dict[Op, Callable[[], object]] = {
    Op.ATTENTION: lambda: REFERENCE.attention(HEADS, STREAM.layout, 2, Exchange.RING, True),
    Op.RECURRENCE: lambda: REFERENCE.recurrence(CHANNELS, np.zeros(8, dtype=np.int64)),
    Op.SHORT_CONVOLUTION: lambda: REFERENCE.short_convolution(CHANNELS, np.zeros(8, dtype=np.int64)),
}


@pytest.mark.parametrize("op", NUMERICS)
def test_numerics_are_not_supported_where_torch_is_missing(op: Op, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "reference_impl.numerics", raising=False)
    monkeypatch.delattr(reference_impl, "numerics", raising=False)
    with pytest.raises(NotSupported, match="need torch"):
        NUMERICS[op]()


def test_another_missing_module_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "reference_impl.recurrence", None)
    monkeypatch.delitem(sys.modules, "reference_impl.numerics", raising=False)
    monkeypatch.delattr(reference_impl, "numerics", raising=False)
    with pytest.raises(ModuleNotFoundError, match="recurrence"):
        NUMERICS[Op.RECURRENCE]()


def test_nothing_but_numerics_imports_torch() -> None:
    """The wheel's core needs no torch, and the command line does not wait for it."""
    code = (
        "import sys; from properties import law, museum; law.catalogue(), museum.museum();"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_an_error_names_argument_value_and_requirement() -> None:
    assert str(PackingError("rank", 3, "must be below 2")) == "rank = 3: must be below 2"


def test_an_error_is_whole_after_the_way_between_processes() -> None:
    """An adapter may run in a process of its own, and its errors are judged in another."""
    error = pickle.loads(pickle.dumps(PackingError("rank", 3, "must be below 2")))  # noqa: S301 - made here
    assert (error.argument, error.value, error.requirement) == ("rank", 3, "must be below 2")
    assert repr(error) == "PackingError('rank', 3, 'must be below 2')"


COMPOSITES: dict[Op, Callable[[ReferenceImplementation], object]] = {
    Op.PACKING_STRATEGY: lambda r: r.packing_strategy(np.array([0, 1]), 8, Algorithm.FIRST_FIT, 0),
    Op.PACK_DOCUMENTS: lambda r: r.pack_documents(DOCUMENTS, PackSpec(8)),
    Op.PREPARE: lambda r: r.prepare(DOCUMENTS, PackSpec(8), Path("unused")),
    Op.COLLATE: lambda r: r.collate([ROW], [0], CollateSpec(width=8, n_samples=1)),
    Op.SEQUENCE_PARAMS: lambda r: r.sequence_params(BoundaryMetadata(np.array([0, 4], np.int32), total_tokens=4)),
    Op.PACK_IN_BATCH: lambda r: r.pack_in_batch(PADDED_BATCH, 4, 0),
    Op.VLM_STEP: lambda r: r.vlm_step(PADDED_BATCH, Parallelism()),
    Op.SLICE_BATCH: lambda r: r.slice_batch(STREAM, 2, 0),
    Op.GATHER: lambda r: r.gather([STREAM]),
    Op.ALL_TO_ALL_ORDER: lambda r: r.all_to_all_order(STREAM.layout, 2),
    Op.ROTARY_ROWS: lambda r: r.rotary_rows(STREAM.layout, 2, 0, RotaryMode.STREAM),
    Op.ROTARY_AXES: lambda r: r.rotary_axes(STREAM.tokens[None, :], STREAM.layout, 2, 0),
    Op.ROLL: lambda r: r.roll(STREAM.tokens, STREAM.layout, 2, 1, Borders.PADDED),
    Op.PLACE_BATCH: lambda r: r.place_batch(STREAM, Grid(context=2), Place()),
    Op.ATTENTION: lambda r: r.attention(HEADS, STREAM.layout, 2, Exchange.RING, True),
}


@pytest.mark.parametrize(
    ("operation", "composite"),
    [
        (Op.ASSIGN_BINS, Op.PACKING_STRATEGY),
        (Op.ASSIGN_BINS, Op.PACK_DOCUMENTS),
        (Op.HISTOGRAM, Op.PACK_DOCUMENTS),
        (Op.PACKING_STRATEGY, Op.PACK_DOCUMENTS),
        (Op.FILL, Op.PACK_DOCUMENTS),
        (Op.PAD_DOCUMENT, Op.PACK_DOCUMENTS),
        (Op.PACK_DOCUMENTS, Op.PREPARE),
        (Op.EPOCH_ORDER, Op.COLLATE),
        (Op.POSITION_IDS, Op.COLLATE),
        (Op.SEQUENCE_INDEX, Op.SEQUENCE_PARAMS),
        (Op.PAD_LAYOUT, Op.PACK_IN_BATCH),
        (Op.PAD_LAYOUT, Op.VLM_STEP),
        (Op.PACK_IN_BATCH, Op.VLM_STEP),
        (Op.PARTITION, Op.SLICE_BATCH),
        (Op.PARTITION, Op.GATHER),
        (Op.PARTITION, Op.ALL_TO_ALL_ORDER),
        (Op.PARTITION, Op.ROTARY_ROWS),
        (Op.PARTITION, Op.ROTARY_AXES),
        (Op.PARTITION, Op.ROLL),
        (Op.PARTITION, Op.PLACE_BATCH),
        (Op.SLICE_BATCH, Op.PLACE_BATCH),
        (Op.SEQUENCE_PARAMS, Op.PLACE_BATCH),
        (Op.PARTITION, Op.ATTENTION),
        (Op.LOCAL_BOUNDARIES, Op.ATTENTION),
    ],
)
def test_a_broken_operation_shows_in_what_is_built_on_it(operation: Op, composite: Op) -> None:
    with pytest.raises(Broken):
        COMPOSITES[composite](broken(operation))


def test_a_broken_write_shows_in_prepared_files(tmp_path: Path) -> None:
    with pytest.raises(Broken):
        broken(Op.WRITE_ROWS).prepare(DOCUMENTS, PackSpec(8), tmp_path)


def test_a_wrong_operation_carries_its_wrong_result_along() -> None:
    class OneBinEach(ReferenceImplementation):
        @override
        def assign_bins(self, lengths: IntArray, capacity: int, algorithm: Algorithm, seed: int) -> Bins:
            return tuple((int(length),) for length in lengths)

    dataset = OneBinEach().pack_documents(DOCUMENTS, PackSpec(capacity=32))
    assert len(dataset.rows) == len(DOCUMENTS)
    assert dataset.ledger is not None
    for entry in dataset.ledger:
        assert entry.row is not None
        assert dataset.rows[entry.row].tokens.tolist() == DOCUMENTS[entry.document].tokens.tolist()


def test_a_wrong_padding_rule_is_given_the_limit_as_it_is_configured() -> None:
    class CutToTheLimit(ReferenceImplementation):
        @override
        def pad_document(self, document: Document, max_length: int, multiple: int | None, pad_id: int) -> Document:
            return super().pad_document(document, max_length, 1, pad_id)

    long = Document(np.arange(30), answer_start=1)
    assert CutToTheLimit().pack_documents([long], PackSpec(10, pad_multiple=4)).metadata.dataset_max_seqlen == 10
    assert REFERENCE.pack_documents([long], PackSpec(10, pad_multiple=4)).metadata.dataset_max_seqlen == 8


def test_the_ledger_tells_where_every_document_went() -> None:
    dataset = REFERENCE.pack_documents(DOCUMENTS, PackSpec(capacity=10, pad_multiple=2))
    assert dataset.ledger is not None
    for entry in dataset.ledger:
        assert entry.row is not None
        assert entry.segment is not None
        row = dataset.rows[entry.row]
        start = row.starts[entry.segment]
        tokens = DOCUMENTS[entry.document].tokens
        assert row.tokens[start : start + tokens.size].tolist() == tokens.tolist()


def test_the_vlm_step_derives_the_multiple_and_pads_with_0() -> None:
    step = REFERENCE.vlm_step(PADDED_BATCH, Parallelism(context=4))
    assert step.tokens.tolist() == [5, 6, 7, 0, 0, 0, 0, 0]


def test_small_operations_are_those_of_their_modules(tmp_path: Path) -> None:
    layout = REFERENCE.pad_layout(np.array([3, 2]), 4)
    assert REFERENCE.position_ids(layout).tolist() == [0, 1, 2, 3, 0, 1, 2, 3]
    assert REFERENCE.padding_mask(layout).sum() == 3
    assert REFERENCE.merge_layouts([layout, layout]).padded.tolist() == [0, 4, 8, 12, 16]
    assert REFERENCE.local_boundaries(layout, 2, 0).tolist() == [0, 1, 2]
    assert REFERENCE.partition(layout, 2, 0).tolist() == [0, 3, 4, 7]
    assert REFERENCE.sequence_index(layout, 9).tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 2]
    REFERENCE.write_rows([ROW], tmp_path / "packed.npy")
    assert REFERENCE.read_rows(tmp_path / "packed.npy")[0].tokens.tolist() == [5, 6, 7, 8, 9]


# Prepared files


def test_prepared_files_hold_what_packing_gives(tmp_path: Path) -> None:
    spec = PackSpec(capacity=8, seed=3)
    prepared = REFERENCE.prepare(DOCUMENTS, spec, tmp_path / "new" / "folder")
    dataset = REFERENCE.pack_documents(DOCUMENTS, spec)
    assert [row.tokens.tolist() for row in REFERENCE.read_rows(prepared.rows)] == [
        row.tokens.tolist() for row in dataset.rows
    ]
    assert prepared.metadata == (dataset.metadata,)


def test_metadata_is_one_json_list_with_the_names_of_megatron_bridge(tmp_path: Path) -> None:
    REFERENCE.prepare(DOCUMENTS[:1], PackSpec(capacity=4), tmp_path)
    assert json.loads((tmp_path / "metadata.json").read_text()) == [
        {
            "dataset_max_seqlen": 2,
            "max_samples_per_bin": 1,
            "packing_factor": 1.0,
            "packing_efficiency": 50.0,
            "pack_size": 4,
            "min_packed_seqlen": 2,
        }
    ]


@pytest.mark.parametrize("second", [PackSpec(capacity=8), PackSpec(capacity=16)])
def test_preparing_again_replaces_rows_and_metadata(tmp_path: Path, second: PackSpec) -> None:
    REFERENCE.prepare(DOCUMENTS, PackSpec(capacity=8), tmp_path)
    prepared = REFERENCE.prepare(DOCUMENTS, second, tmp_path)
    assert [entry["pack_size"] for entry in json.loads((tmp_path / "metadata.json").read_text())] == [second.capacity]
    assert len(REFERENCE.read_rows(prepared.rows)) == len(REFERENCE.pack_documents(DOCUMENTS, second).rows)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["metadata.json", "packed.parquet"]


def test_a_run_that_dies_leaves_no_metadata_of_other_rows(tmp_path: Path) -> None:
    REFERENCE.prepare(DOCUMENTS, PackSpec(capacity=8), tmp_path)
    with pytest.raises(Broken):
        broken(Op.WRITE_ROWS).prepare(DOCUMENTS, PackSpec(capacity=16), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["packed.parquet"]


# Configuration


def test_a_configuration_is_judged_by_the_rules() -> None:
    assert REFERENCE.validate(TrainingConfig()).accepted
    refused = REFERENCE.validate(TrainingConfig(offline_size=4096, micro_batch_size=4))
    assert not refused.accepted
    assert any("micro_batch_size" in error for error in refused.errors)


def test_packs_without_statistics_are_not_prepared(tmp_path: Path) -> None:
    """A subclass may keep none; the metadata file would say nothing."""

    class WithoutStatistics(ReferenceImplementation):
        def pack_documents(self, documents: Sequence[Document], spec: PackSpec) -> PackedDataset:
            return replace(super().pack_documents(documents, spec), metadata=None)

    with pytest.raises(NotSupported, match=r"^without statistics"):
        WithoutStatistics().prepare([Document(np.array([1, 2, 0]), answer_start=1)], PackSpec(capacity=4), tmp_path)

"""The adapter says what Megatron Bridge 0.5.1 does, right or wrong: values observed without the adapter.

They come from running upstream's code by hand, before this adapter existed, and pin defects as well as behaviour.
"""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.targets.loading import TargetError, describe, load
from properties.law import Verdict, catalogue
from properties.profiles import profile
from reference_impl.batches import BoundaryMetadata, CollateSpec, Layout, PaddedBatch, Parallelism, ThdBatch
from reference_impl.config import CudaGraph, DatasetKind, ModelFamily, TrainingConfig
from reference_impl.documents import Algorithm, Document, Overlong, PackedRow, PackingMetadata, PackSpec
from reference_impl.errors import Inexpressible
from reference_impl.interface import Op

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("megatron") is None, reason="Megatron Bridge is not installed"),
]


@pytest.fixture(scope="module")
def bridge() -> Any:
    """The installed Megatron Bridge."""
    target = load("megatron-bridge")
    version = describe(target).version
    if version != "0.5.1":
        pytest.skip(f"the values are those of 0.5.1, and {version} is installed")
    return target


def ints(*values: int) -> Any:
    return np.array(values, dtype=np.int64)


def boundaries(*values: int) -> Any:
    return np.array(values, dtype=np.int32)


def text_document(first: int, prompt: int, answer: int) -> Document:
    """A document with a prompt from ``first`` on, an answer from ``first + 50`` on, and EOS 0."""
    return Document(ints(*range(first, first + prompt), *range(first + 50, first + 50 + answer), 0), None, prompt)


def row(*documents: list[int]) -> PackedRow:
    """A row of stored documents that is trained everywhere."""
    tokens = [token for document in documents for token in document]
    starts = np.cumsum([0, *map(len, documents)])[:-1]
    return PackedRow(ints(*tokens), np.ones(len(tokens), dtype=np.bool_), starts.astype(np.int64))


# What was imported ---------------------------------------------------------------------------------------------------


def test_operations_on_ranks_are_not_supported(bridge: Any) -> None:
    needs_gpu = {Op.PARTITION, Op.SLICE_BATCH, Op.GATHER, Op.LOCAL_BOUNDARIES}
    assert not bridge.operations() & needs_gpu


def test_the_report_names_what_was_stood_in_for(bridge: Any) -> None:
    bridge.vlm_step(padded_batch(), Parallelism())
    description = describe(bridge)
    assert description.imported == "isolated" or not description.stand_ins
    assert set(description.stand_ins) <= {
        "modelopt", "torch.Tensor.cuda", "torch.Tensor.to", "torch.nn.Module.cuda", "torch.nn.Module.to",
    }  # fmt: skip


@pytest.mark.usefixtures("bridge")
@pytest.mark.parametrize(
    ("target", "said"),
    [("megatron-bridge==0.4.2", "has megatron-bridge 0.5.1, not 0.4.2"), ("megatron-bridge@elsewhere", "new process")],
)
def test_another_release_than_the_imported_one_is_refused(target: str, said: str) -> None:
    with pytest.raises(TargetError, match=said):
        load(target)


# Offline packing -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lengths", "algorithm", "bins"),
    [
        ([5, 3, 4, 4, 2, 7], Algorithm.FIRST_FIT, ((5, 3), (4, 4), (2,), (7,))),
        ([5, 3, 4, 4, 2, 7], Algorithm.FIRST_FIT_DECREASING, ((7,), (5, 3), (4, 4), (2,))),
        ([3, 12, 3, 0, 5], Algorithm.FIRST_FIT, ((3, 3, 0), (12,), (5,))),
        ([9, 0, 0], Algorithm.FIRST_FIT, ((9,), (0, 0))),
        ([], Algorithm.FIRST_FIT, ()),
    ],
)
def test_bins(bridge: Any, lengths: list[int], algorithm: Algorithm, bins: object) -> None:
    assert bridge.assign_bins(ints(*lengths), 8, algorithm, 0) == bins


@pytest.mark.parametrize("algorithm", [Algorithm.BEST_FIT_DECREASING, Algorithm.LONGEST_PACK_FIRST])
def test_an_algorithm_that_the_release_lacks_is_inexpressible(bridge: Any, algorithm: Algorithm) -> None:
    with pytest.raises(Inexpressible, match=algorithm.value):
        bridge.assign_bins(ints(3), 8, algorithm, 0)
    with pytest.raises(Inexpressible, match=algorithm.value):
        bridge.packing_strategy(ints(0, 1), 8, algorithm, 0)
    with pytest.raises(Inexpressible, match=algorithm.value):
        bridge.pack_documents((text_document(10, 1, 2),), PackSpec(8, algorithm))


def test_laws_on_algorithms_that_the_release_lacks_are_not_supported(bridge: Any) -> None:
    outcome = catalogue()["BIN-011[longest pack first]"].run(bridge, profile=profile("self-check"))
    assert outcome.verdict is Verdict.NOT_SUPPORTED


@pytest.mark.parametrize(
    ("ambient", "bins"),
    [(0, ((7,), (4, 3), (4, 2), (5,))), (1234, ((4, 3), (7,), (5, 2), (4,)))],
)
def test_shuffled_bins_depend_on_the_ambient_random_state_and_not_on_the_seed(
    bridge: Any, ambient: int, bins: object
) -> None:
    for seed in (0, 7):
        np.random.seed(ambient)  # noqa: NPY002
        assert bridge.assign_bins(ints(5, 3, 4, 4, 2, 7), 8, Algorithm.FIRST_FIT_SHUFFLE, seed) == bins


def test_histogram(bridge: Any) -> None:
    histogram = bridge.histogram(ints(3, 1, 3, -1), 4)
    assert histogram.counts.tolist() == [0, 1, 0, 2, 0]
    assert histogram.skipped == 1


def test_a_length_beyond_the_histogram_is_an_accident(bridge: Any) -> None:
    with pytest.raises(IndexError):
        bridge.histogram(ints(5), 4)


def test_packing_without_a_document_is_an_accident(bridge: Any) -> None:
    with pytest.raises(ZeroDivisionError):
        bridge.packing_strategy(ints(0, 0), 8, Algorithm.FIRST_FIT, 0)


@pytest.mark.parametrize(
    ("stored", "multiple", "limit", "padded"),
    [(5, 4, 16, 9), (4, 4, 16, 5), (10, 4, 10, 11), (5, 16, 8, 9), (20, 4, 16, 16)],
)
def test_padding_goes_by_the_stored_length(bridge: Any, stored: int, multiple: int, limit: int, padded: int) -> None:
    document = Document(np.arange(1, stored + 1), answer_start=2)
    assert len(bridge.pad_document(document, limit, multiple, 0).tokens) == padded


def test_a_document_with_a_loss_mask_cannot_be_padded(bridge: Any) -> None:
    document = Document(ints(1, 2, 3, 4, 0), loss_mask=np.ones(5, dtype=np.bool_))
    with pytest.raises(TypeError):
        bridge.pad_document(document, 16, 4, 0)


def test_no_multiple_is_an_accident(bridge: Any) -> None:
    with pytest.raises(TypeError):
        bridge.pad_document(Document(ints(1, 2, 0), answer_start=1), 16, None, 0)


DOCUMENTS = (text_document(100, 2, 2), text_document(200, 3, 1), text_document(300, 2, 4), text_document(400, 1, 1))


def test_a_whole_packing_run(bridge: Any) -> None:
    np.random.seed(0)  # noqa: NPY002
    packed = bridge.pack_documents(DOCUMENTS, PackSpec(capacity=10, max_length=10))
    assert [made.tokens.tolist() for made in packed.rows] == [
        [200, 201, 202, 250, 0, 300, 301, 350, 351, 352, 353, 0],
        [100, 101, 150, 151, 0, 400, 450, 0],
    ]
    assert [made.starts.tolist() for made in packed.rows] == [[0, 5], [0, 5]]
    assert packed.metadata == PackingMetadata(6, 2, 2.0, 80.0, 10, 6)


def test_the_stored_mask_belongs_to_the_next_token(bridge: Any) -> None:
    [packed] = bridge.fill([text_document(100, 2, 2)], ((4,),), 8, 0, 0)
    assert packed.loss_mask.tolist() == [False, True, True, True, True]
    masked = Document(ints(1, 2, 3, 0), loss_mask=np.array([False, True, False, True]))
    [packed] = bridge.fill([masked], ((3,),), 8, 0, 0)
    assert packed.loss_mask.tolist() == [True, False, True, False]


def test_a_bin_beyond_the_capacity_is_an_accident(bridge: Any) -> None:
    with pytest.raises(KeyError):
        bridge.fill([text_document(100, 7, 7)], ((14,),), 8, 0, 0)


def test_a_second_run_appends_to_the_metadata(bridge: Any, tmp_path: Path) -> None:
    spec = PackSpec(capacity=10, max_length=10, algorithm=Algorithm.FIRST_FIT_DECREASING)
    bridge.prepare(DOCUMENTS, spec, tmp_path)
    files = bridge.prepare(DOCUMENTS, spec, tmp_path)
    assert len(files.metadata) == 2
    assert files.metadata[0] == files.metadata[1]
    assert len(bridge.read_rows(files.rows)) == 2


def test_a_policy_that_bridge_lacks_is_inexpressible(bridge: Any) -> None:
    spec = PackSpec(capacity=5, overlong=Overlong.DROP)
    with pytest.raises(Inexpressible):
        bridge.pack_documents(DOCUMENTS, spec)


def test_a_limit_of_2_31_is_taken_as_the_capacity(bridge: Any) -> None:
    with pytest.raises(Inexpressible):
        bridge.pack_documents(DOCUMENTS, PackSpec(capacity=8, max_length=2**30))
    assert bridge.pack_documents(DOCUMENTS, PackSpec(capacity=8)).metadata.pack_size == 8


class IntegerTokenizer:
    """Reads space-separated integers."""

    eos_id = eod = 0

    def text_to_ids(self, text: str) -> list[int]:
        """Tokens of a text."""
        return [int(word) for word in text.split()]


@pytest.mark.parametrize("suffix", [".parquet", ".npy"])
def test_text_is_tokenised_and_padded_by_bridge_itself(bridge: Any, tmp_path: Path, suffix: str) -> None:
    records = [{"input": "5 6", "output": "7 8"}, {"input": "9", "output": "10 11"}]
    spec = PackSpec(capacity=16, max_length=16, pad_multiple=4, algorithm=Algorithm.FIRST_FIT_DECREASING)
    files = bridge.prepare_text(records, IntegerTokenizer(), spec, tmp_path, suffix)
    [packed] = bridge.read_rows(files.rows)
    assert packed.tokens.tolist() == [5, 6, 7, 8, 0, 0, 0, 0, 0, 9, 10, 11, 0, 0]
    assert packed.starts.tolist() == [0, 9]
    assert packed.loss_mask.tolist() == [False, *[True] * 8, *[True] * 5]
    assert len(files.metadata) == 1


# Files and datasets --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rows.npy", "rows.parquet", "rows.idx.parquet"])
def test_rows_come_back_from_a_file(bridge: Any, tmp_path: Path, name: str) -> None:
    written = row([5, 6, 7, 0], [8, 9, 0])
    bridge.write_rows([written], tmp_path / name)
    [read] = bridge.read_rows(tmp_path / name)
    for field in ("tokens", "loss_mask", "starts"):
        assert getattr(read, field).tolist() == getattr(written, field).tolist()


def test_a_broken_numpy_file_ends_the_process(bridge: Any, tmp_path: Path) -> None:
    (tmp_path / "rows.npy").write_bytes(b"\x93NUMPY")
    with pytest.raises(SystemExit):
        bridge.read_rows(tmp_path / "rows.npy")


@pytest.mark.parametrize(("seed", "order"), [(1234, [0, 1, 2, 1, 2, 0, 2]), (5, [0, 1, 2, 2, 0, 1, 1])])
def test_epoch_order(bridge: Any, seed: int, order: list[int]) -> None:
    assert bridge.epoch_order(3, 7, seed).tolist() == order


def test_one_sample_of_one_row_is_an_accident(bridge: Any) -> None:
    with pytest.raises(IndexError):
        bridge.epoch_order(1, 1, 0)


ROW = row([5, 6, 7, 0], [8, 9, 0])


def collate_one(bridge: Any, packed: PackedRow, spec: CollateSpec, index: int = 0) -> ThdBatch:
    [batch] = bridge.collate([packed], [index], spec)
    return batch


def test_collation(bridge: Any) -> None:
    batch = collate_one(bridge, ROW, CollateSpec(width=16, pad_to_width=False))
    assert batch.tokens.tolist() == [5, 6, 7, 8, 9]
    assert batch.labels is not None
    assert batch.labels.tolist() == [6, 7, 0, 9, 0]
    assert batch.loss_mask is not None
    assert batch.loss_mask.tolist() == [1, 1, 1, 1, 1]
    assert batch.position_ids.tolist() == [0, 1, 2, 0, 1]
    assert batch.layout.padded.tolist() == batch.layout.valid.tolist() == [0, 3, 5]
    assert batch.max_seqlen == 3
    raw = {key: (value.tolist(), str(value.dtype)) for key, value in batch.raw.items()}
    assert raw == {
        "cu_seqlens": ([[0, 3, 5, -1]], "int32"),
        "cu_seqlens_argmin": ([[3]], "int64"),
        "max_seqlen": ([[3]], "int32"),
    }


def test_the_tail_of_a_row_is_one_more_segment(bridge: Any) -> None:
    assert collate_one(bridge, ROW, CollateSpec(width=8)).layout.padded.tolist() == [0, 3, 5, 8]
    widened = collate_one(bridge, ROW, CollateSpec(width=32, pad_to_width=False, width_multiple=16))
    assert widened.layout.padded.tolist() == [0, 3, 5, 16]
    assert widened.max_seqlen == 11


def test_valid_lengths_are_read_off_the_tokens(bridge: Any) -> None:
    batch = collate_one(bridge, row([5, 6, 7, 0, 0], [8, 9, 0, 0, 0]), CollateSpec(width=12, document_multiple=4))
    assert batch.layout.padded.tolist() == [0, 4, 8, 12]
    assert batch.layout.valid.tolist() == [0, 3, 5, 5]
    assert batch.tokens.tolist() == [5, 6, 7, 0, 8, 9, 0, 0, 0, 0, 0, 0]
    assert batch.loss_mask is not None
    assert batch.loss_mask.tolist() == [1, 1, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0]


def test_eos_inside_a_document_loses_its_loss(bridge: Any) -> None:
    batch = collate_one(bridge, row([5, 0, 6, 7, 0]), CollateSpec(width=4))
    assert batch.loss_mask is not None
    assert batch.loss_mask.tolist() == [1, 0, 1, 1]


def test_static_boundaries_are_told_as_they_are_and_read_without_filler(bridge: Any) -> None:
    spec = CollateSpec(width=8, static_boundaries=True, metadata=(PackingMetadata(3, 4, 2.0, 62.5, 8, 5),))
    batch = collate_one(bridge, ROW, spec)
    assert batch.raw["cu_seqlens"].tolist() == [[0, 3, 5, 8, 8, 8, -1]]
    assert batch.raw["max_seqlen"].shape == (1,)
    assert batch.layout.padded.tolist() == [0, 3, 5, 8]


def test_static_boundaries_need_metadata(bridge: Any) -> None:
    with pytest.raises(AssertionError, match="metadata json file"):
        collate_one(bridge, ROW, CollateSpec(width=8, static_boundaries=True))


@pytest.mark.parametrize(("spec", "trained"), [(CollateSpec(width=5), 0), (CollateSpec(width=5, n_samples=3), 5)])
def test_a_filler_has_no_loss_unless_it_is_mapped(bridge: Any, spec: CollateSpec, trained: int) -> None:
    loss_mask = collate_one(bridge, ROW, spec, index=-1).loss_mask
    assert loss_mask is not None
    assert loss_mask.sum() == trained


def test_a_row_that_is_too_wide_is_refused_without_a_message(bridge: Any) -> None:
    with pytest.raises(AssertionError):
        collate_one(bridge, ROW, CollateSpec(width=4))


def test_no_document_multiple_is_an_accident(bridge: Any) -> None:
    with pytest.raises(TypeError):
        collate_one(bridge, ROW, CollateSpec(width=8, document_multiple=None))


# Boundaries ----------------------------------------------------------------------------------------------------------


def test_kernel_parameters(bridge: Any) -> None:
    slots, valid = boundaries(0, 128, 256, 384, -1, -1), boundaries(0, 120, 245, 370, -1, -1)
    params = bridge.sequence_params(BoundaryMetadata(slots, 4, valid, 4, max_seqlen=128))
    assert params.cu_seqlens_q.tolist() == params.cu_seqlens_kv.tolist() == [0, 120, 245, 370]
    assert params.cu_seqlens_q_padded.tolist() == params.cu_seqlens_kv_padded.tolist() == [0, 128, 256, 384]
    assert params.max_seqlen_q == params.max_seqlen_kv == 128
    assert params.seq_idx is None


def test_boundaries_without_a_sentinel_vanish(bridge: Any) -> None:
    assert bridge.sequence_params(BoundaryMetadata(boundaries(0, 3, 5))).cu_seqlens_q.tolist() == []


def test_the_single_boundary_of_an_empty_pack_is_an_accident(bridge: Any) -> None:
    with pytest.raises(IndexError):
        bridge.sequence_params(BoundaryMetadata(boundaries(0), argmin=1))


def test_segment_indices(bridge: Any) -> None:
    expected = [0] * 5 + [1] * 2 + [2] * 4 + [3] * 5
    layout = Layout(ints(0, 5, 7, 11), ints(0, 5, 7, 11))
    assert bridge.sequence_index(layout, 16).tolist() == expected
    params = bridge.sequence_params(BoundaryMetadata(boundaries(0, 5, 7, 11), argmin=4, total_tokens=16))
    assert params.seq_idx.tolist() == expected


# In-batch packing ----------------------------------------------------------------------------------------------------


def padded_batch(**changes: Any) -> PaddedBatch:
    """Rows of three and five tokens."""
    parts: dict[str, Any] = {
        "tokens": np.array([[1, 2, 3, 0, 0], [4, 5, 6, 7, 8]]),
        "labels": np.array([[2, 3, 0, 0, 0], [5, 6, 7, 8, 0]]),
        "loss_mask": np.ones((2, 5)),
        "position_ids": np.tile(np.arange(5), (2, 1)),
    }
    return PaddedBatch(**parts | changes)


def test_in_batch_packing(bridge: Any) -> None:
    packed = bridge.pack_in_batch(padded_batch(), 4, 0)
    assert packed.tokens.tolist() == [1, 2, 3, 0, 4, 5, 6, 7, 8, 0, 0, 0]
    assert packed.labels.tolist() == [2, 3, 0, -100, 5, 6, 7, 8, 0, -100, -100, -100]
    assert packed.loss_mask.tolist() == [1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 0, 0]
    assert packed.position_ids.tolist() == [0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7]
    assert packed.layout.padded.tolist() == packed.layout.valid.tolist() == [0, 4, 12]
    assert packed.max_seqlen == 8
    assert str(packed.raw["cu_seqlens"].dtype) == "int32"


def test_left_padding_is_taken_for_tokens(bridge: Any) -> None:
    mask = np.array([[False, False, True, True, True]])
    batch = PaddedBatch(np.array([[0, 0, 1, 2, 3]]), None, None, np.arange(5)[np.newaxis], mask)
    packed = bridge.pack_in_batch(batch, 1, 0)
    assert packed.tokens.tolist() == [0, 0, 1]
    assert packed.labels is None
    assert packed.loss_mask is None


def test_rows_without_a_token_leave_nothing(bridge: Any) -> None:
    packed = bridge.pack_in_batch(padded_batch(tokens=np.zeros((2, 5), dtype=np.int64)), 4, 0)
    assert packed.tokens.tolist() == []
    assert packed.layout.padded.tolist() == [0]


@pytest.mark.parametrize(
    ("parallelism", "padded"),
    [
        (Parallelism(), [0, 3, 8]),
        (Parallelism(context=2), [0, 4, 12]),
        (Parallelism(tensor=2), [0, 3, 8]),
        (Parallelism(tensor=4, sequence_parallel=True), [0, 4, 12]),
        (Parallelism(context=2, tensor=4, sequence_parallel=True), [0, 8, 16]),
    ],
)
def test_the_step_derives_its_multiple(bridge: Any, parallelism: Parallelism, padded: list[int]) -> None:
    assert bridge.vlm_step(padded_batch(), parallelism).layout.padded.tolist() == padded


def test_the_step_tells_padding_by_the_mask_of_the_collator(bridge: Any) -> None:
    mask = np.array([[True, True, True, True, False], [True] * 5])
    assert bridge.vlm_step(padded_batch(padding_mask=mask), Parallelism()).layout.padded.tolist() == [0, 4, 9]


# Configuration -------------------------------------------------------------------------------------------------------

ON_TWO_RANKS = {"context_parallel_size": 2, "calculate_per_token_loss": True, "average_in_collective": False}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"offline_size": 4096},
        {"offline_size": 4096, "pad_seq_to_mult": None, "pad_cu_seqlens": True, "has_metadata_file": False},
        {"offline_size": 4095, "mtp_num_layers": 1, "pad_seq_to_mult": 3, **ON_TWO_RANKS},
        {"pack_sequences_in_batch": True, "micro_batch_size": 2},
        {"dataset_kind": DatasetKind.PRETRAINING, "context_parallel_size": 2},
        {"tensor_parallel_size": 8, "pipeline_parallel_size": 4, "sequence_parallel": True, **ON_TWO_RANKS},
        *({"offline_size": 4096, "cuda_graph": graph} for graph in CudaGraph),
        *({"offline_size": 4096, "model_family": family} for family in ModelFamily),
    ],
    ids=str,
)
def test_accepted_configurations(bridge: Any, changes: dict[str, Any]) -> None:
    assert bridge.validate(TrainingConfig(**changes)).errors == ()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"offline_size": 4096, "micro_batch_size": 4}, "Micro batch size should be 1"),
        ({"pack_sequences_in_batch": True}, "micro_batch_size should be greater than 1"),
        ({"model_seq_length": 510, "dataset_seq_length": 510, **ON_TWO_RANKS}, "divisible by 2 * context parallel"),
        ({**ON_TWO_RANKS, "calculate_per_token_loss": False}, "calculate_per_token_loss must be True"),
        ({**ON_TWO_RANKS, "average_in_collective": True}, "average_in_collective must be False"),
        ({"dataset_seq_length": 2048}, "sequence length configuration in model config and dataset config match"),
        ({"offline_size": 4096, "pad_seq_to_mult": 0}, "pad_seq_to_mult must be a positive integer"),
    ],
    ids=str,
)
def test_refused_configurations(bridge: Any, changes: dict[str, Any], said: str) -> None:
    result = bridge.validate(TrainingConfig(**changes))
    assert not result.accepted
    assert said in result.errors[0]


@pytest.mark.parametrize(
    "changes", [{"dataset_kind": DatasetKind.PRETRAINING, "offline_size": 4096}, {"offline_size": 0}]
)
def test_what_bridge_has_no_word_for_is_inexpressible(bridge: Any, changes: dict[str, Any]) -> None:
    """Packing in pretraining cannot be asked for, and a pack size of 0 is its way to switch packing off."""
    with pytest.raises(Inexpressible):
        bridge.validate(TrainingConfig(**changes))

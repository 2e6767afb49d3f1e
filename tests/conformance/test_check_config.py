"""Training configurations are read from files as their writers meant them, and mistakes get one clear sentence."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.check_config import ConfigError, load, report
from reference_impl.config import CudaGraph, DatasetKind, ModelFamily, TrainingConfig

Write = Callable[..., Path]

PACKED_ON_TWO_RANKS = """
train:
  micro_batch_size: 1
  train_iters: 100
model:
  _target_: megatron.bridge.models.llama.Llama3ModelProvider
  seq_length: 4096
  context_parallel_size: 2
  calculate_per_token_loss: true
ddp:
  average_in_collective: false
dataset:
  _target_: megatron.bridge.training.config.FinetuningDatasetConfig
  seq_length: 4096
  dataset_kwargs: {pad_to_max_length: true}
  packed_sequence_specs:
    _target_: megatron.bridge.data.datasets.packed_sequence.PackedSequenceSpecs
    packed_sequence_size: 4096
    pad_seq_to_mult: 4
optimizer: {lr: 1.0e-4}
"""


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str, name: str = "config.yaml") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_nested_names_are_read(write: Write) -> None:
    assert load(write(PACKED_ON_TWO_RANKS)) == TrainingConfig(
        context_parallel_size=2,
        calculate_per_token_loss=True,
        average_in_collective=False,
        offline_size=4096,
        pad_seq_to_mult=4,
        pad_to_max_length=True,
    )
    assert report(write(PACKED_ON_TWO_RANKS)) == []


def test_flat_and_nested_names_mean_the_same(write: Write) -> None:
    flat = {
        "train.micro_batch_size": 1,
        "model.seq_length": 4096,
        "model.context_parallel_size": 2,
        "model.calculate_per_token_loss": True,
        "ddp.average_in_collective": False,
        "dataset.seq_length": 4096,
        "dataset.dataset_kwargs.pad_to_max_length": True,
        "dataset.packed_sequence_specs.packed_sequence_size": 4096,
        "dataset.packed_sequence_specs": {"pad_seq_to_mult": 4},
    }
    assert load(write(json.dumps(flat, indent="\t"), "config.json")) == load(write(PACKED_ON_TWO_RANKS))


def test_names_since_0_6_are_read(write: Write) -> None:
    config = load(
        write(
            "dataset: {enable_offline_packing: true, pad_to_max_length: true,"
            " offline_packing_specs: {packed_sequence_size: 8192, pad_seq_to_mult: null, pad_cu_seqlens: true}}"
        )
    )
    assert (config.offline_size, config.pad_seq_to_mult) == (8192, None)
    assert config.pad_to_max_length
    assert config.pad_cu_seqlens
    assert load(write("dataset.enable_in_batch_packing: true")).pack_sequences_in_batch


def test_settings_of_a_nested_transformer_are_read(write: Write) -> None:
    config = load(write("model: {transformer: {context_parallel_size: 4, mtp_num_layers: 1}}"))
    assert (config.context_parallel_size, config.mtp_num_layers) == (4, 1)


def test_a_length_given_once_is_meant_for_both(write: Write) -> None:
    assert load(write("model.seq_length: 16384")).dataset_seq_length == 16384
    assert load(write("dataset.sequence_length: 512")).model_seq_length == 512


def test_lengths_that_differ_are_reported(write: Write) -> None:
    [broken] = report(write("{model.seq_length: 4096, dataset.seq_length: 2048}"))
    assert broken.rule.id == "lengths-agree"


def test_every_broken_rule_is_reported(write: Write) -> None:
    text = PACKED_ON_TWO_RANKS.replace("micro_batch_size: 1", "micro_batch_size: 4").replace("mult: 4", "mult: 2")
    broken = report(write(text))
    assert [item.rule.id for item in broken] == ["offline-micro-batch", "thd-micro-batch", "cp-document-multiple"]
    assert "pad_seq_to_mult = 2" in broken[-1].message


def test_a_release_adds_its_own_defects(write: Write) -> None:
    path = write("{train.micro_batch_size: 2, dataset.pack_sequences_in_batch: true}")
    assert report(path) == []
    assert [item.rule.id for item in report(path, "0.5.1")] == ["in-batch-collation"]


@pytest.mark.parametrize("size", [-1, 0])
def test_a_size_below_one_switches_the_old_setting_off(write: Write, size: int) -> None:
    specs = f"{{packed_sequence_size: {size}, pad_cu_seqlens: true}}"
    assert report(write(f"dataset: {{packed_sequence_specs: {specs}}}\ntrain.micro_batch_size: 4")) == []
    [broken] = report(write(f"dataset: {{offline_packing_specs: {specs}}}"))
    assert broken.rule.id == "offline-size-positive"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("dataset: {_target_: megatron.bridge.training.config.GPTDatasetConfig, seq_length: 8}", "pretraining"),
        ("dataset: {_target_: megatron.bridge.data.GPTSFTDatasetConfig, seq_length: 8}", "finetuning"),
        ("dataset: {seq_length: 8, blend: null}", "pretraining"),
        ("dataset: {seq_length: 8}", "finetuning"),
    ],
)
def test_the_kind_of_dataset_is_told_from_its_class_or_settings(write: Write, text: str, kind: str) -> None:
    assert load(write(text)).dataset_kind is DatasetKind(kind)


@pytest.mark.parametrize(
    ("setting", "family"),
    [
        ("model._target_: megatron.bridge.models.qwen.Qwen3NextModelProvider", ModelFamily.QWEN3_NEXT),
        ("tokenizer.tokenizer_model: zai-org/GLM-4.5-Air", ModelFamily.GLM45),
        ("tokenizer.tokenizer_model: zai-org/GLM-4.5V", ModelFamily.OTHER),
        ("model._target_: megatron.bridge.models.qwen_vl.qwen35_vl_provider.Qwen35VLModelProvider", "qwen3.5-vl"),
        ("tokenizer.tokenizer_model: null", ModelFamily.OTHER),
    ],
)
def test_the_model_family_is_told_from_its_names(write: Write, setting: str, family: str) -> None:
    assert load(write(f"model.seq_length: 8\n{setting}")).model_family is ModelFamily(family)


@pytest.mark.parametrize(
    ("settings", "graph"),
    [
        ("cuda_graph_impl: none", CudaGraph.NONE),
        ("cuda_graph_impl: full_iteration", CudaGraph.FULL_ITERATION),
        ("cuda_graph_impl: local, cuda_graph_scope: full_iteration", CudaGraph.FULL_ITERATION),
        ("cuda_graph_impl: local", CudaGraph.NONE),
        ("cuda_graph_impl: transformer_engine", CudaGraph.ATTENTION),
        ("cuda_graph_impl: transformer_engine, cuda_graph_scope: full", CudaGraph.ATTENTION),
        ("cuda_graph_impl: transformer_engine, cuda_graph_modules: [mlp, attn]", CudaGraph.ATTENTION),
        ("cuda_graph_impl: transformer_engine, cuda_graph_scope: 'mlp, moe'", CudaGraph.NONE),
        ("cuda_graph_impl: transformer_engine, cuda_graph_scope: [{_name_: attn, _args_: [1]}]", CudaGraph.ATTENTION),
    ],
)
def test_cuda_graphs_are_told_from_their_settings(write: Write, settings: str, graph: CudaGraph) -> None:
    assert load(write(f"model: {{{settings}}}")).cuda_graph is graph


def test_data_packed_elsewhere_needs_a_path_to_its_metadata(write: Write, tmp_path: Path) -> None:
    def has_metadata(specs: str) -> bool:
        return load(
            write(f"dataset: {{packed_sequence_specs: {{packed_sequence_size: 8, {specs}}}}}")
        ).has_metadata_file

    here = tmp_path / "metadata.jsonl"
    assert has_metadata("pad_cu_seqlens: true")
    assert not has_metadata("packed_train_data_path: /data/train.parquet")
    assert has_metadata("packed_metadata_path: /folder/of/the/cluster/metadata.jsonl")
    assert not has_metadata(f"packed_metadata_path: {here}")
    here.write_text("[]")
    assert has_metadata(f"packed_metadata_path: {here}")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("train.micro_batch_size: '4'", "train.micro_batch_size = '4': must be an integer of 1 or more"),
        ("train.micro_batch_size: 0", "train.micro_batch_size = 0: must be an integer of 1 or more"),
        ("model.seq_length: 4096.0", "model.seq_length = 4096.0: must be an integer of 1 or more"),
        ("model.context_parallel_size: true", "model.context_parallel_size = True: must be an integer of 1 or more"),
        ("model.sequence_parallel: 1", "model.sequence_parallel = 1: must be true or false"),
        ("model: 7", "model = 7: must hold settings, not a value"),
        ("dataset.packed_sequence_specs: 4096", "dataset.packed_sequence_specs = 4096: must hold settings"),
        ("dataset.dataset_kwargs: [pad_to_max_length]", "must hold settings, not a value"),
        ("model.cuda_graph_scope: 3", "model.cuda_graph_scope = 3: must be a word or a list of words"),
        ("model.seq_length: ${seq}", "model.seq_length = '${seq}': must be an integer of 1 or more"),
        (
            "{dataset.pack_sequences_in_batch: true, dataset.enable_in_batch_packing: false}",
            "dataset.enable_in_batch_packing = False: disagrees with dataset.pack_sequences_in_batch = True",
        ),
        ("model.seq_length: 8\nmodel: {seq_length: 16}", "model.seq_length is set twice, to 8 and 16"),
        ("dataset.enable_offline_packing: true", "dataset.offline_packing_specs must be set exactly when it is True"),
        ("optimizer.lr: 1.0e-4", "names no setting that packing depends on"),
        ("", "holds no settings"),
        ("- model", "holds no settings"),
        ("model: [", "is no YAML file"),
        ("model: !!python/object/apply:os.getcwd []", "is no YAML file"),
        ("model: &again {seq_length: 8, more: *again}", "too deep for a training configuration"),
    ],
)
def test_a_mistake_gets_one_clear_sentence(write: Write, text: str, sentence: str) -> None:
    path = write(text)
    with pytest.raises(ConfigError) as caught:
        load(path)
    message = str(caught.value)
    assert sentence in message
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    assert isinstance(caught.value, ValueError)


def test_a_file_that_multiplies_itself_is_refused(write: Write) -> None:
    lines = ["a0: &a0 {x: 1}", *(f"a{i}: &a{i} {{p: *a{i - 1}, q: *a{i - 1}}}" for i in range(1, 25))]
    with pytest.raises(ConfigError, match="one setting too many"):
        load(write("\n".join(lines)))


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, write: Write) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path / "missing.yaml")
    with pytest.raises(ConfigError, match="is no JSON file"):
        load(write("{,}", "config.json"))
    (tmp_path / "latin.yaml").write_bytes("model: {name: caf\xe9}".encode("latin-1"))
    with pytest.raises(ConfigError, match="is no YAML file"):
        load(tmp_path / "latin.yaml")


def test_a_path_may_be_a_string(write: Write) -> None:
    assert load(str(write("model.seq_length: 8"))).model_seq_length == 8

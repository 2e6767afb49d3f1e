"""The configuration rules, one small example each, and what holds for all of them."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_impl.config import CudaGraph, DatasetKind, ModelFamily, TrainingConfig
from reference_impl.errors import PackingError
from reference_impl.rules import RULES, Severity, check, cp_multiple, pack_multiple, verdict

OFFLINE = TrainingConfig(offline_size=4096, pad_to_max_length=True)
IN_BATCH = TrainingConfig(pack_sequences_in_batch=True, micro_batch_size=2)
CP = TrainingConfig(context_parallel_size=2, calculate_per_token_loss=True, average_in_collective=False)
OFFLINE_CP = replace(CP, offline_size=4096, pad_to_max_length=True, pad_seq_to_mult=4)
OFFLINE_CP_SP = replace(OFFLINE_CP, tensor_parallel_size=4, sequence_parallel=True, pad_seq_to_mult=8)
THREE_RANKS = TrainingConfig(
    model_seq_length=4098,
    dataset_seq_length=4098,
    context_parallel_size=3,
    calculate_per_token_loss=True,
    average_in_collective=False,
    offline_size=4098,
    pad_seq_to_mult=6,
)
STATIC = replace(OFFLINE, pad_cu_seqlens=True)

EXAMPLES = {
    "one-packing-mode": [replace(OFFLINE, pack_sequences_in_batch=True, micro_batch_size=n) for n in (1, 2)],
    "offline-size-positive": [replace(OFFLINE, offline_size=size) for size in (0, -1)],
    "offline-micro-batch": [
        replace(OFFLINE, micro_batch_size=2),
        replace(OFFLINE, offline_size=1, model_seq_length=1, dataset_seq_length=1, micro_batch_size=2),
    ],
    "in-batch-micro-batch": [replace(IN_BATCH, micro_batch_size=1)],
    "lengths-agree": [TrainingConfig(dataset_seq_length=length) for length in (4095, 4097)],
    "cp-model-length": [
        replace(CP, model_seq_length=length, dataset_seq_length=length) for length in (4094, 4095, 4097, 2)
    ],
    "cp-pack-length": [replace(OFFLINE_CP, offline_size=size) for size in (4097, 4098, 8190)],
    "sp-pack-length": [
        replace(OFFLINE_CP_SP, offline_size=4100),
        replace(OFFLINE, tensor_parallel_size=2, sequence_parallel=True, offline_size=4097),
    ],
    "document-multiple-positive": [replace(OFFLINE, pad_seq_to_mult=multiple) for multiple in (0, -4)],
    "cp-document-multiple": [replace(OFFLINE_CP, pad_seq_to_mult=multiple) for multiple in (None, 1, 2, 3, 6)],
    "sp-document-multiple": [replace(OFFLINE_CP_SP, pad_seq_to_mult=multiple) for multiple in (4, 12)],
    "cp-per-token-loss": [replace(CP, calculate_per_token_loss=False)],
    "cp-average-in-collective": [replace(CP, average_in_collective=True)],
    "static-boundaries-width": [replace(STATIC, pad_to_max_length=False)],
    "static-boundaries-metadata": [replace(STATIC, has_metadata_file=False)],
    "graph-boundaries": [
        replace(OFFLINE, cuda_graph=graph) for graph in (CudaGraph.ATTENTION, CudaGraph.FULL_ITERATION)
    ],
    "mtp-finetuning": [replace(OFFLINE, mtp_num_layers=1), replace(IN_BATCH, mtp_num_layers=2)],
    "qwen3-next-offline": [replace(OFFLINE, model_family=ModelFamily.QWEN3_NEXT)],
    "glm45-offline": [replace(OFFLINE, model_family=ModelFamily.GLM45)],
    "qwen35-vl-in-batch": [replace(IN_BATCH, model_family=ModelFamily.QWEN35_VL)],
    "pack-shorter-than-documents": [replace(OFFLINE, offline_size=2048)],
    "width-step": [THREE_RANKS],
    "in-batch-graph": [replace(IN_BATCH, cuda_graph=CudaGraph.ATTENTION, pad_to_max_length=True)],
}
"""Configurations that break one rule and no other."""

ACCEPTED = [
    TrainingConfig(),
    OFFLINE,
    IN_BATCH,
    CP,
    OFFLINE_CP,
    OFFLINE_CP_SP,
    STATIC,
    replace(STATIC, cuda_graph=CudaGraph.FULL_ITERATION),
    replace(OFFLINE, pad_seq_to_mult=None),
    replace(OFFLINE, pad_seq_to_mult=3),
    replace(OFFLINE_CP, pad_seq_to_mult=12),
    replace(OFFLINE_CP, tensor_parallel_size=4, sequence_parallel=False),
    replace(OFFLINE, mtp_num_layers=0),
    replace(OFFLINE, has_metadata_file=False),
    replace(OFFLINE, model_family=ModelFamily.QWEN35_VL),
    replace(IN_BATCH, model_family=ModelFamily.GLM45),
    replace(IN_BATCH, pipeline_parallel_size=4),
    replace(IN_BATCH, context_parallel_size=2, calculate_per_token_loss=True, average_in_collective=False),
    TrainingConfig(micro_batch_size=8, mtp_num_layers=1, cuda_graph=CudaGraph.ATTENTION),
    TrainingConfig(dataset_kind=DatasetKind.PRETRAINING, context_parallel_size=2),
]

sizes = st.integers(-9, 40)
configs = st.builds(
    TrainingConfig,
    model_seq_length=sizes,
    dataset_seq_length=sizes,
    micro_batch_size=sizes,
    context_parallel_size=sizes,
    tensor_parallel_size=sizes,
    pipeline_parallel_size=sizes,
    offline_size=st.none() | sizes,
    pad_seq_to_mult=st.none() | sizes,
    mtp_num_layers=st.none() | sizes,
)
"""Any configurations, absurd ones included."""


def ids(config: TrainingConfig, release: str | None = None) -> list[str]:
    return [broken.rule.id for broken in check(config, release)]


@pytest.mark.parametrize("rule", EXAMPLES)
def test_rule_is_broken_by_its_examples_alone(rule: str) -> None:
    assert [ids(config) for config in EXAMPLES[rule]] == [[rule]] * len(EXAMPLES[rule])


@pytest.mark.parametrize("config", ACCEPTED)
def test_nothing_is_wrong_with(config: TrainingConfig) -> None:
    assert ids(config) == []


def test_offline_packing_on_cp_ranks_breaks_both_micro_batch_rules() -> None:
    assert ids(replace(OFFLINE_CP, micro_batch_size=2)) == ["offline-micro-batch", "thd-micro-batch"]


def test_cuda_graphs_of_any_packing_need_a_constant_width() -> None:
    offline = replace(OFFLINE, cuda_graph=CudaGraph.ATTENTION, pad_to_max_length=False)
    assert ids(offline) == ["graph-width", "graph-boundaries"]
    assert ids(replace(IN_BATCH, cuda_graph=CudaGraph.ATTENTION)) == ["graph-width", "in-batch-graph"]


def test_every_standing_rule_has_an_example() -> None:
    standing = {id for id, rule in RULES.items() if rule.until is None}
    assert standing == {*EXAMPLES, "thd-micro-batch", "graph-width"}


@pytest.mark.parametrize(("rule", "config"), [(rule, config) for rule, some in EXAMPLES.items() for config in some])
def test_message_is_one_sentence_that_names_a_setting(rule: str, config: TrainingConfig) -> None:
    [broken] = check(config)
    assert broken.rule is RULES[rule]
    assert broken.message.startswith(("train.", "model.", "dataset.", "ddp."))
    assert broken.message.endswith(".")
    assert "\n" not in broken.message
    assert "  " not in broken.message


def test_message_holds_the_offending_value_and_the_way_out() -> None:
    [broken] = check(replace(OFFLINE, micro_batch_size=4))
    assert "train.micro_batch_size = 4" in broken.message
    assert "set it to 1" in broken.message
    [broken] = check(replace(OFFLINE_CP, offline_size=4098))
    assert "set it to 4096 or 4100" in broken.message
    [broken] = check(replace(OFFLINE_CP, offline_size=3, dataset_seq_length=4, model_seq_length=4))[:1]
    assert "set it to 4." in broken.message
    [broken] = check(replace(OFFLINE_CP_SP, pad_seq_to_mult=4))
    assert "lcm(2*CP, CP*TP); set it to 8" in broken.message
    [broken] = check(replace(OFFLINE, mtp_num_layers=1))
    assert "(packed_sequence_size = 4096)" in broken.message
    [broken] = check(replace(IN_BATCH, mtp_num_layers=1))
    assert "(dataset.pack_sequences_in_batch = True)" in broken.message


def test_multiples_of_documents() -> None:
    assert [cp_multiple(config) for config in (OFFLINE, OFFLINE_CP)] == [1, 4]
    assert pack_multiple(OFFLINE_CP_SP) == math.lcm(2 * 2, 2 * 4)
    assert pack_multiple(replace(OFFLINE_CP_SP, sequence_parallel=False)) == 4
    assert pack_multiple(replace(OFFLINE, tensor_parallel_size=4, sequence_parallel=True)) == 4
    assert pack_multiple(replace(OFFLINE_CP_SP, context_parallel_size=3, tensor_parallel_size=3)) == 18


def test_warnings_do_not_refuse() -> None:
    broken = check(replace(OFFLINE, offline_size=2048))
    assert [item.rule.severity for item in broken] == [Severity.WARNING]
    assert verdict(broken).accepted
    assert verdict(broken).errors == ()


def test_errors_refuse_with_their_messages() -> None:
    broken = check(replace(OFFLINE, offline_size=2048, micro_batch_size=2))
    assert len(broken) == 2
    assert not verdict(broken).accepted
    assert verdict(broken).errors == (broken[0].message,)


def test_a_release_has_its_own_defects() -> None:
    pipelined = replace(OFFLINE_CP, pipeline_parallel_size=4)
    assert ids(pipelined) == ids(pipelined, "0.5.1") == []
    assert ids(pipelined, "0.4.2") == ["middle-stages-lose-boundaries", "sentinels-in-slicing"]
    assert ids(replace(pipelined, pipeline_parallel_size=2), "v0.3") == ["sentinels-in-slicing"]
    assert [ids(IN_BATCH, release) for release in ("0.4.2", "0.5.1", "0.6.0rc1")] == [[], ["in-batch-collation"], []]
    for release in ("0.6.0", "0.6"):  # the first of a series may be written without its 0
        assert ids(replace(OFFLINE, pad_seq_to_mult=None), release) == ["document-multiple-none"]


def test_a_size_below_one_is_off_before_0_6() -> None:
    off = replace(OFFLINE, offline_size=-1, micro_batch_size=4)
    assert ids(off, "0.5.1") == []
    assert ids(off, "0.6.0") == ids(off) == ["offline-size-positive"]


def test_a_rule_knows_who_enforces_it() -> None:
    assert [RULES["graph-width"].enforced_in(release) for release in ("0.5.1", "0.6.0", "0.10.0", "1.0.0")] == [
        False,
        True,
        True,
        True,
    ]
    assert RULES["offline-micro-batch"].enforced_in("0.3.1")
    assert not RULES["mtp-finetuning"].enforced_in("0.6.0")


@pytest.mark.parametrize("release", ["", "main", "five"])
def test_a_release_is_a_number(release: str) -> None:
    with pytest.raises(PackingError, match="must be a Megatron Bridge release"):
        check(OFFLINE, release)


def test_rules_are_documented() -> None:
    for id, rule in RULES.items():
        assert id == rule.id
        assert rule.harm
        assert rule.source
        assert set(rule.implies) <= set(RULES)


def test_no_two_rules_share_an_id() -> None:
    from reference_impl.hazards import HAZARDS, PAST_DEFECTS
    from reference_impl.rules import CONTRACT

    assert len(RULES) == len(CONTRACT) + len(HAZARDS) + len(PAST_DEFECTS)


@given(config=configs, release=st.sampled_from((None, "0.3.1", "0.5.1", "0.6.0")))
def test_checking_never_fails_and_implications_hold(config: TrainingConfig, release: str | None) -> None:
    broken = check(config, release)
    found = {item.rule.id for item in broken}
    assert all(set(item.rule.implies) <= found for item in broken)
    assert verdict(broken).accepted == all(item.rule.severity is Severity.WARNING for item in broken)


@given(config=configs, graph=st.sampled_from(CudaGraph), in_batch=st.booleans())
def test_what_bridge_0_5_1_refuses_is_refused(config: TrainingConfig, graph: CudaGraph, *, in_batch: bool) -> None:
    config = replace(config, cuda_graph=graph, pack_sequences_in_batch=in_batch)
    ranks = config.context_parallel_size
    tunes = config.dataset_kind is DatasetKind.FINETUNING
    offline = config.offline_size is not None and config.offline_size > 0
    refused = (
        (ranks > 1 and config.model_seq_length % (2 * ranks) != 0)
        or (ranks > 1 and tunes and (not config.calculate_per_token_loss or config.average_in_collective))
        or (offline and config.micro_batch_size > 1)
        or (in_batch and config.micro_batch_size == 1)
        or config.model_seq_length != config.dataset_seq_length
    )
    assert not (refused and verdict(check(config, "0.5.1")).accepted)

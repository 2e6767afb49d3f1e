"""Pass targets: three suites of exactly 8, 14 and 2 tests that state what upstream's three test groups cover."""

from __future__ import annotations

from dataclasses import dataclass

from reference_impl.interface import Op


@dataclass(frozen=True)
class Suite:
    """One suite.

    Attributes:
        name: short name, as events and reports use it.
        title: what it covers.
        file_name: module of this package that holds the tests.
        expected: tests that must pass.
        operation: what a target must offer to be held to it.
        upstream_path: test file of Megatron Bridge whose behaviour it states.
        keyword: pytest ``-k`` expression that selects upstream's tests, "" for all.
    """

    name: str
    title: str
    file_name: str
    expected: int
    operation: Op
    upstream_path: str
    keyword: str = ""


SUITES = (
    Suite(
        "sequence-params",
        "building packed-sequence parameters",
        "test_sequence_params.py",
        8,
        Op.SEQUENCE_PARAMS,
        "tests/unit_tests/training/utils/test_packed_seq_utils.py",
    ),
    Suite(
        "config-validation",
        "config validation",
        "test_config_validation.py",
        14,
        Op.VALIDATE,
        "tests/unit_tests/training/test_config.py",
        "packed_sequence or pack_sequences_in_batch or context_parallel_seq_length_divisibility"
        " or context_parallel_finetuning_validations",
    ),
    Suite(
        "vlm-in-batch",
        "in-batch packing in the VLM step, with and without context parallelism",
        "test_vlm_in_batch.py",
        2,
        Op.VLM_STEP,
        "tests/unit_tests/training/test_vlm_step.py",
        "enable_packing",
    ),
)

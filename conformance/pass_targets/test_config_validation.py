"""Fourteen pass targets: configurations that a run may start with, and those that it must not."""

from __future__ import annotations

import re

import pytest

from reference_impl.config import DatasetKind, TrainingConfig
from reference_impl.interface import Implementation

TUNING, PRETRAINING = DatasetKind.FINETUNING, DatasetKind.PRETRAINING


def accept(implementation: Implementation, config: TrainingConfig) -> None:
    """Require that a run may start."""
    result = implementation.validate(config)
    assert result.accepted, f"refused: {result.errors}"


def refuse(implementation: Implementation, config: TrainingConfig, *names: str) -> None:
    """Require a refusal that names the setting, be it as ``micro_batch_size`` or as 'Micro batch size'."""
    result = implementation.validate(config)
    assert not result.accepted
    said = re.sub(r"[^a-z]+", " ", " ".join(result.errors).lower()).replace("sequence length", "seq length")
    for name in names:
        assert name in said, f"the refusal does not name the {name}: {result.errors}"


# Micro batches: 6 tests ----------------------------------------------------------------------------------------------


def test_offline_packs_of_several_rows_are_refused(implementation: Implementation) -> None:
    """Four packs in a micro batch are refused."""
    refuse(implementation, TrainingConfig(offline_size=4096, micro_batch_size=4), "micro batch size", "pack")


def test_an_offline_pack_per_micro_batch_is_accepted(implementation: Implementation) -> None:
    """One pack in a micro batch is accepted."""
    accept(implementation, TrainingConfig(offline_size=4096, micro_batch_size=1))


def test_unpacked_fine_tuning_takes_any_micro_batch(implementation: Implementation) -> None:
    """Without packing, fine-tuning with four rows in a micro batch is accepted."""
    accept(implementation, TrainingConfig(offline_size=None, micro_batch_size=4))


def test_pretraining_takes_any_micro_batch(implementation: Implementation) -> None:
    """Pretraining with four rows in a micro batch is accepted."""
    accept(implementation, TrainingConfig(dataset_kind=PRETRAINING, micro_batch_size=4))


def test_in_batch_packing_of_one_row_is_refused(implementation: Implementation) -> None:
    """In-batch packing has nothing to pack in a micro batch of one row."""
    config = TrainingConfig(pack_sequences_in_batch=True, micro_batch_size=1)
    refuse(implementation, config, "micro batch size", "in batch")


def test_in_batch_packing_of_several_rows_is_accepted(implementation: Implementation) -> None:
    """In-batch packing of four rows is accepted."""
    accept(implementation, TrainingConfig(pack_sequences_in_batch=True, micro_batch_size=4))


# Sequence length on several CP ranks: 3 tests ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("length", "ranks", "divides"),
    [(1024, 2, True), (1022, 2, False), (1024, 3, False)],
    ids=["1024-on-2", "1022-on-2", "1024-on-3"],
)
def test_the_length_is_divisible_by_twice_the_cp_ranks(
    implementation: Implementation, length: int, ranks: int, *, divides: bool
) -> None:
    """A length is accepted exactly when 2 * CP divides it; 1022 on 2 ranks fits CP but not 2 * CP."""
    config = TrainingConfig(
        dataset_kind=PRETRAINING, model_seq_length=length, dataset_seq_length=length, context_parallel_size=ranks
    )
    if divides:
        accept(implementation, config)
    else:
        refuse(implementation, config, "seq length")


# Loss on several CP ranks: 5 tests -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "ranks", "per_token", "average", "named"),
    [
        (TUNING, 2, False, False, "calculate per token loss"),
        (TUNING, 2, True, True, "average in collective"),
        (TUNING, 2, True, False, None),
        (PRETRAINING, 2, False, True, None),
        (TUNING, 1, False, True, None),
    ],
    ids=["mean-per-rank", "averaged-gradients", "per-token", "pretraining", "one-rank"],
)
def test_fine_tuning_on_several_cp_ranks_counts_tokens(
    implementation: Implementation, kind: DatasetKind, ranks: int, named: str | None, *, per_token: bool, average: bool
) -> None:
    """Fine-tuning with CP needs per-token loss without averaging; pretraining and single ranks do not."""
    config = TrainingConfig(
        dataset_kind=kind,
        context_parallel_size=ranks,
        calculate_per_token_loss=per_token,
        average_in_collective=average,
    )
    if named is None:
        accept(implementation, config)
    else:
        refuse(implementation, config, named)

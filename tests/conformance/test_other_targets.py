"""Adapters beside Megatron Bridge's: values observed from the real code, right or wrong."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from conformance import overlays
from conformance.cli import app
from conformance.targets.declared import POLICIES
from conformance.targets.loading import AUTOMODEL, CORE, ENGINE, EXAMPLES, TRL, TargetError, load, parse
from reference_impl.batches import Layout
from reference_impl.policies import EmptyRow
from reference_impl.ranks import Borders, RotaryMode

ASK = """
import json, sys
import numpy as np
from conformance.targets.loading import describe, load
from reference_impl.batches import CollateSpec, Layout
from reference_impl.documents import Algorithm, Document, Overlong, PackedRow, PackSpec
def ints(*values): return np.array(values, dtype=np.int64)
target = load(sys.argv[1])
layout = Layout(valid=ints(0, 3, 9), padded=ints(0, 4, 12))
print(json.dumps(eval(sys.argv[2])))
"""


def ask(target: str, expression: str) -> object:
    """Evaluate an expression in a process that holds a release."""
    spec = parse(target)
    folder = overlays.overlay(spec.kind, str(spec.version))
    done = subprocess.run(
        [sys.executable, "-c", ASK, target, expression],
        env=os.environ | {"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_the_helpers_of_transformer_engine_run_without_its_libraries() -> None:
    """Padding, positions, slices and local boundaries of two documents of 3 and 6 tokens on two ranks."""
    found = ask(
        f"{ENGINE}=={EXAMPLES[ENGINE]}",
        "[describe(target).version, sorted(target.operations()),"
        " target.pad_layout(ints(3, 6), 4).padded.tolist(), target.position_ids(layout).tolist(),"
        " [target.partition(layout, 2, rank).tolist() for rank in (0, 1)],"
        " [target.local_boundaries(layout, 2, rank).tolist() for rank in (0, 1)]]",
    )
    assert found == [
        EXAMPLES[ENGINE],
        ["local_boundaries", "pad_layout", "partition", "position_ids", "slice_batch"],
        [0, 4, 12],
        [*range(4), *range(8)],
        [[0, 3, 4, 5, 10, 11], [1, 2, 6, 7, 8, 9]],
        [[0, 1, 3], [0, 2, 6]],
    ]


@pytest.mark.slow
def test_transformer_engine_drops_slots_of_indivisible_documents_without_a_word() -> None:
    """3 slots on 2 ranks: no chunk has a slot, so all three are lost (see properties/museum/found)."""
    target = f"{ENGINE}=={EXAMPLES[ENGINE]}"
    lost = "[target.partition(Layout(ints(0, 3), ints(0, 3)), 2, rank).tolist() for rank in (0, 1)]"
    assert ask(target, lost) == [[], []]


@pytest.mark.slow
@pytest.mark.parametrize(("release", "merges"), [("0.18.2", False), ("0.19.2", True)])
def test_megatron_core_offers_what_its_release_has(release: str, merges: bool) -> None:
    """Rotary rows, MTP, schedules and ``seq_idx`` in both, merged boundaries from 0.19 on."""
    rows = "[Layout(ints(0, 3, 8), ints(0, 3, 8)), Layout(ints(0, 8), ints(0, 8))]"
    found = ask(
        f"{CORE}=={release}",
        "[sorted(target.operations()), target.sequence_index(layout, 13).tolist(),"
        f" 'merge_layouts' in target.operations() and target.merge_layouts({rows}).padded.tolist()]",
    )
    always = ["roll", "rotary_axes", "rotary_rows", "schedule", "sequence_index"]
    operations = ["merge_layouts", *always] if merges else always
    assert found == [operations, [0] * 4 + [1] * 8 + [2], [0, 3, 8, 16] if merges else False]


def test_megatron_core_rotates_and_rolls_on_ranks_that_are_threads() -> None:
    """The installed release: two documents of 8 and 4 slots on two ranks, whole; with padding MTP leaks (ML-09)."""
    core = load(CORE)
    layout = Layout(valid=np.array([0, 8, 12]), padded=np.array([0, 8, 12]))
    slots = [[0, 1, 6, 7, 8, 11], [2, 3, 4, 5, 9, 10]]
    rows = [core.rotary_rows(layout, 2, rank, RotaryMode.STREAM).tolist() for rank in (0, 1)]
    assert rows == slots
    assert core.rotary_rows(layout, 2, 0, RotaryMode.RESTART).tolist() == [0, 1, 6, 7, 0, 3]
    axes = np.array([np.arange(12), 5 * np.arange(12)])
    assert core.rotary_axes(axes, layout, 2, 1).tolist() == axes[:, slots[1]].tolist()
    values = np.arange(1, 13)
    rolled = core.roll(values, layout, 2, 1, Borders.PADDED)
    assert [part.tolist() for part in rolled] == [[2, 3, 8, 0, 10, 0], [4, 5, 6, 7, 11, 12]]
    padded = Layout(valid=np.array([0, 7, 10]), padded=layout.padded)
    [leaking] = core.roll(values, padded, 1, 1, Borders.VALID)
    assert leaking.tolist() == [2, 3, 4, 5, 6, 7, 0, 9, 10, 0, 11, 12]


def test_megatron_core_plans_samples_on_ranks() -> None:
    """The installed release: 16 tokens on two ranks of 8, and the others beside them; a rank may have two samples."""
    [group] = load(CORE).schedule(np.array([16, 8, 8, 3]), 4, 8)
    assert {share.sample: share.ranks for share in group} == {0: (0, 1), 1: (2,), 2: (3,), 3: (2,)}


COLLATED = """
[(batch.tokens.tolist(), batch.labels.tolist(), batch.loss_mask.tolist(),
  batch.layout.padded.tolist(), batch.max_seqlen) for batch in target.collate(
     [PackedRow(ints(5, 6, 0, 7, 8, 9, 0), np.array([0, 1, 0, 1, 1, 1, 0], dtype=bool), ints(0, 3))],
     [0], CollateSpec(width=7, eos_id=0, pad_to_width=True))]
"""
PACKED = """
[(row.tokens.tolist(), row.starts.tolist(), row.loss_mask.tolist())
 for row in target.pack_documents(
     [Document(ints(*range(first, first + size)), answer_start=1) for first, size in ((10, 3), (20, 6), (30, 2))],
     PackSpec(capacity=4, algorithm=Algorithm.BEST_FIT_DECREASING, overlong=overlong)).rows]
"""


@pytest.mark.slow
def test_trl_collates_a_row_as_a_stream_of_runtime_slots() -> None:
    """Two documents of 2 and 3 slots in a width of 7; each slot of padding is a document of its own (TR-03)."""
    tokens, labels = [5, 6, 7, 8, 9, 0, 0], [6, 0, 8, 9, 0, 0, 0]
    found = ask(f"{TRL}=={EXAMPLES[TRL]}", COLLATED.strip())
    assert found == [[tokens, labels, [0, 1, 1, 1, 1, 0, 0], [0, 2, 5, 6, 7], 3]]


@pytest.mark.slow
def test_trl_packs_best_fit_first_and_truncates_or_splits() -> None:
    """Rows of 5 stored tokens hold 4 slots of one document; the last part of a split document trains nothing."""
    target = f"{TRL}=={EXAMPLES[TRL]}"
    both = f"[{PACKED.strip()} for overlong in (Overlong.TRUNCATE, Overlong.SPLIT)]"
    row = [[10, 11, 12, 30, 31], [0, 3], [True, True, False, True, False]]
    long = [[20, 21, 22, 23, 24], [0], [True] * 4 + [False]]
    truncated, split = ask(target, both)  # pyright: ignore[reportGeneralTypeIssues]
    assert truncated == [long, row]
    assert split == [long, row, [[25], [0], [False]]]


@pytest.mark.slow
def test_trl_has_best_fit_alone() -> None:
    """And 4 fits best into the row that has 4 slots left."""
    found = ask(f"{TRL}=={EXAMPLES[TRL]}", "target.assign_bins(ints(4, 6, 5), 10, Algorithm.BEST_FIT_DECREASING, 0)")
    assert found == [[6, 4], [5]]


KNAPSACK = """
[(row.tokens.tolist(), row.starts.tolist(), row.loss_mask.tolist())
 for row in target.pack_documents(
     [Document(ints(*range(first, first + size)), answer_start=1) for first, size in ((10, 3), (20, 5), (30, 2))],
     PackSpec(capacity=5, algorithm=Algorithm.SHORTEST_PACK_FIRST)).rows]
"""
ALIGNED = """
[(batch.tokens.tolist(), batch.labels.tolist(), batch.loss_mask.tolist(),
  batch.layout.valid.tolist(), batch.layout.padded.tolist()) for batch in target.collate(
     [PackedRow(ints(5, 6, 0, 0, 0, 7, 8, 9, 10, 0), np.array([1, 1, 0, 0, 0, 0, 1, 1, 1, 0], dtype=bool),
                ints(0, 5), ints(3, 5))],
     [0], CollateSpec(width=8, eos_id=0, document_multiple=4))]
"""


@pytest.mark.slow
def test_nemo_automodel_packs_the_longest_first_into_the_emptiest_bin() -> None:
    """Bins of lengths, and packs of documents in runtime form."""
    target = f"{AUTOMODEL}=={EXAMPLES[AUTOMODEL]}"
    bins = "target.assign_bins(ints(4, 6, 5, 1), 10, Algorithm.SHORTEST_PACK_FIRST, 0)"
    assert ask(target, f"[{bins}, {KNAPSACK.strip()}]") == [
        [[6, 1], [5, 4]],
        [
            [[20, 21, 22, 23, 24], [0], [True, True, True, True, False]],
            [[10, 11, 12, 30, 31], [0, 3], [True, True, False, True, False]],
        ],
    ]


@pytest.mark.slow
def test_nemo_automodel_pads_documents_for_context_parallelism() -> None:
    """Documents of 2 and 4 slots, each padded to 4, with their valid lengths beside the slots."""
    found = ask(f"{AUTOMODEL}=={EXAMPLES[AUTOMODEL]}", f"[{ALIGNED.strip()}, target.padding_mask(layout).tolist()]")
    tokens, labels = [5, 6, 0, 0, 7, 8, 9, 10], [6, 0, 0, 0, 8, 9, 10, 0]
    weights = [1, 1, 0, 0, 0, 1, 1, 1]
    assert found == [
        [[tokens, labels, weights, [0, 2, 6], [0, 4, 8]]],
        [slot in {3, 10, 11} for slot in range(12)],
    ]


def test_a_package_that_is_not_installed_is_told_with_a_release_that_works() -> None:
    """TransformerEngine is in no environment without CUDA."""
    if importlib.util.find_spec("transformer_engine") is not None:
        pytest.skip("TransformerEngine is installed here")
    with pytest.raises(TargetError, match=f"{ENGINE}=={EXAMPLES[ENGINE]}"):
        load(ENGINE)


def test_declared_policies_are_listed_as_a_table() -> None:
    """Each target in a row, each policy in a column; JSON holds the same."""
    result = CliRunner().invoke(app, ["list", "targets"], terminal_width=200)
    assert result.exit_code == 0
    assert "declared policies" in result.stdout
    rows = json.loads(CliRunner().invoke(app, ["list", "targets", "--format", "json"]).stdout)
    [bridge] = [row["policies"] for row in rows if row["target"] == "megatron-bridge"]
    assert {name: found["empty_row"] for name, found in bridge.items()} == {
        "megatron-bridge up to 0.5": "left out",
        "megatron-bridge from 0.6": "refused",
    }
    assert POLICIES["megatron-bridge from 0.6"].empty_row is EmptyRow.REFUSED

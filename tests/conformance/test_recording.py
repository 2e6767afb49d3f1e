"""Recordings: what a target answered on one machine is held against laws on another."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from typer.testing import CliRunner

from conformance import events, recordings
from conformance.cli import USER_ERRORS, app
from conformance.exit_codes import ExitCode
from conformance.recorder import record
from conformance.targets.command import Refused
from conformance.targets.loading import TargetError, describe, load
from conformance.targets.recording import Recording, draw_alike
from properties.law import Law, Verdict, catalogue, law
from properties.museum import museum
from properties.profiles import profile
from properties.strategies.layouts import layouts, worlds
from reference_impl.batches import Layout
from reference_impl.errors import Inexpressible
from reference_impl.interface import Implementation, Op
from reference_impl.ranks import AttentionInputs, AttentionResult
from reference_impl.reference import ReferenceImplementation

ABOUT = {"target": "fake", "version": "1.2", "device": "a GPU"}
PROFILE = settings(profile("pr"), max_examples=20)
PARTITIONED = ("CPX-001", "CPX-003", "CPX-010")


def laws(*keys: str) -> list[Law]:
    return [catalogue()[key] for key in keys]


def recorded(target: Implementation, folder: Path, *keys: str) -> Recording:
    assert len(record(target, laws(*keys), folder, ABOUT, PROFILE)) == len(keys)
    return Recording(folder)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good")
    recorded(ReferenceImplementation(), folder, *PARTITIONED)
    return folder


@pytest.mark.parametrize("key", PARTITIONED)
def test_a_good_run_passes_on_its_recording(key: str, good: Path) -> None:
    """On its recorded inputs, each once."""
    outcome = Recording(good).run(catalogue()[key])
    assert outcome.verdict is Verdict.PASSED, outcome.message
    assert outcome.examples >= PROFILE.max_examples / 2


def test_a_recorded_wrong_output_fails_the_law(tmp_path: Path) -> None:
    """What the target got wrong there is wrong here."""
    outcome = recorded(museum()["MB-02"].implementation(), tmp_path, "CPX-001", "CPX-003").run(catalogue()["CPX-003"])
    assert outcome.verdict is Verdict.FAILED
    assert outcome.failure is not None
    assert [call.op for call in outcome.failure.calls] == [Op.PARTITION]


def test_a_law_of_a_later_day_runs_on_what_was_recorded(good: Path) -> None:
    """It draws as a recorded law does and asks what was asked; nobody recorded it."""

    @law("LATER-001", needs={Op.PARTITION}, harm="none", sources=("I1",))
    @given(layout=layouts(), world=worlds())
    def later(implementation: Implementation, layout: Layout, world: int) -> None:
        """Rank 0 owns the first slot."""
        slots = implementation.partition(layout, world, 0)
        assert not len(slots) or slots[0] == 0

    found = Recording(good).run(later.law)
    wrong = Recording(good).run(replace(later.law, check=_nobody_owns_anything))
    assert found.verdict is Verdict.PASSED, found.message
    assert found.examples >= PROFILE.max_examples / 2
    assert wrong.verdict is Verdict.HARNESS_ERROR


def _nobody_owns_anything(implementation: Implementation, layout: Layout, world: int) -> None:
    assert not len(implementation.partition(layout, world, 0))


def test_laws_that_draw_other_inputs_do_not_share_them() -> None:
    """Strategies that look alike may differ in what they close over: only their draws tell."""
    anything, unpadded = (
        replace(catalogue()["CPX-001"], strategies={"layout": layouts(padding=padding)}) for padding in ("any", "none")
    )
    assert draw_alike(anything, catalogue()["CPX-003"])
    assert not draw_alike(unpadded, catalogue()["CPX-003"])


def test_a_law_whose_inputs_were_not_recorded_is_not_supported(good: Path) -> None:
    """It never passes."""
    outcome = Recording(good).run(catalogue()["CPX-008"])
    assert outcome.verdict is Verdict.NOT_SUPPORTED
    assert Recording(good).run(catalogue()["BIN-001"]).message == "the recording has no assign_bins"


def test_a_call_that_was_not_recorded_is_inexpressible(good: Path) -> None:
    """And no answer is made up."""
    layout = Layout(np.array([0, 4096]), np.array([0, 4096]))
    with pytest.raises(Inexpressible, match="partition was not recorded"):
        Recording(good).partition(layout, 2, 0)


def test_refusals_and_accidents_are_answers(tmp_path: Path) -> None:
    """A law about refusals tells a refusal from an accident there as anywhere."""
    keys = [key for key in catalogue() if key.startswith("CPX-012")]
    right = recorded(ReferenceImplementation(), tmp_path / "right", *keys)
    wrong = recorded(_Accident(), tmp_path / "wrong", *keys)
    assert {right.run(each).verdict for each in laws(*keys)} == {Verdict.PASSED}
    assert Verdict.FAILED in {wrong.run(each).verdict for each in laws(*keys)}


class _Accident(ReferenceImplementation):
    def partition(self, layout: Layout, world: int, rank: int) -> np.ndarray:
        try:
            return super().partition(layout, world, rank)
        except ValueError as error:
            raise KeyError(rank) from error


def test_floating_inputs_that_differ_in_the_last_bit_are_the_same(tmp_path: Path) -> None:
    """The machine that recorded computes sines with other instructions."""
    recording = recorded(_RoundedOtherwise(), tmp_path, "ATT-001[ring]")
    outcome = recording.run(catalogue()["ATT-001[ring]"])
    assert outcome.verdict is Verdict.PASSED, outcome.message
    assert outcome.examples >= 15


class _RoundedOtherwise(ReferenceImplementation):
    """Does what the recorder stores: asked on a machine whose inputs are one bit larger."""

    def attention(self, inputs: AttentionInputs, *rest: Any) -> AttentionResult:
        result = super().attention(inputs, *rest)
        for name in ("q", "k", "v", "grad_out"):
            array = getattr(inputs, name)
            array[...] = np.nextafter(array, np.inf)
        return result


def test_a_target_that_is_not_deterministic_stays_so(tmp_path: Path) -> None:
    """The second answer to a question is given the second time."""
    outcome = recorded(_Unsteady(), tmp_path, "ATT-009").run(catalogue()["ATT-009"])
    assert outcome.verdict is Verdict.FAILED
    assert "is the same twice" in outcome.message


class _Unsteady(ReferenceImplementation):
    def __init__(self) -> None:
        self.asked = 0

    def attention(self, *arguments: Any) -> AttentionResult:
        self.asked += 1
        result = super().attention(*arguments)
        return replace(result, out=result.out + 1e-13 * self.asked)


def test_a_recording_says_what_it_is_of(good: Path) -> None:
    """Reports name the target, its release and the device."""
    description = describe(load(f"recording:{good}"))
    assert (description.name, description.version) == ("recording of fake", "1.2")
    assert description.versions["device"] == "a GPU"
    assert description.operations == ("partition",)


def test_the_same_answers_give_the_same_files(tmp_path: Path) -> None:
    """So that nightly records can be compared by their bytes."""
    for name in ("one", "other"):
        record(ReferenceImplementation(), laws("CPX-001"), tmp_path / name, ABOUT, PROFILE)
    one, other = ((tmp_path / name / "CPX-001.safetensors").read_bytes() for name in ("one", "other"))
    assert one == other


def _write(path: Path, changed: dict[str, object], metadata: dict[str, str]) -> None:
    from safetensors.numpy import save

    call = {"operation": "partition", "arguments": [{"valid": [], "padded": []}, 1, 0], "result": 1}
    stored = {"about": ABOUT, "law": "CPX-001", "calls": [call], "examples": [], **changed}
    known = metadata or {recordings.METADATA: json.dumps(stored)}
    path.write_bytes(save({"0": np.arange(3)}, known))


@pytest.mark.parametrize(
    ("changed", "metadata", "message"),
    [
        ({}, {"format": "pt"}, "is no recording of laws, its metadata lack 'packproof recording'"),
        ({}, {recordings.METADATA: "{"}, "is a damaged recording"),
        ({"schema": 2}, {}, "has schema 2; this packproof reads schema 1"),
        ({"calls": 3}, {}, "is a damaged recording"),
        ({"calls": [{"operation": "system", "arguments": []}]}, {}, "'system' is no operation"),
        ({"calls": [{"operation": "write_rows", "arguments": []}]}, {}, "'write_rows' is no operation"),
        ({"calls": [{"operation": "partition", "arguments": [1]}]}, {}, "partition takes 3 arguments, here are 1"),
        ({}, {}, "is a damaged recording"),
        ({"examples": [{"layout": {"valid": {"tensor": "7"}, "padded": {"tensor": "0"}}, "world": 1}], "calls": []},
         {}, "'7' is no tensor of the file"),
    ],
)  # fmt: skip
def test_a_hostile_file_is_one_sentence(
    changed: dict[str, object], metadata: dict[str, str], message: str, tmp_path: Path
) -> None:
    """Which names the file."""
    _write(tmp_path / "x.safetensors", changed, metadata)
    with pytest.raises(TargetError, match=r"x\.safetensors") as raised:
        load(f"recording:{tmp_path}")
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_truncated_file_is_one_sentence(good: Path, tmp_path: Path) -> None:
    """At whatever byte it ends."""
    whole = (good / "CPX-001.safetensors").read_bytes()
    for length in (0, 7, 100, len(whole) - 1):
        (tmp_path / "x.safetensors").write_bytes(whole[:length])
        with pytest.raises(TargetError, match="is no safetensors file, or is cut short") as raised:
            load(f"recording:{tmp_path}")
        assert "\n" not in str(raised.value)


def test_a_folder_of_two_targets_is_refused(tmp_path: Path) -> None:
    """Their answers would be taken for those of one."""
    recorded(ReferenceImplementation(), tmp_path, "CPX-001")
    record(ReferenceImplementation(), laws("CPX-003"), tmp_path, {**ABOUT, "device": "another"}, PROFILE)
    with pytest.raises(TargetError, match="is of another target or device than its neighbours"):
        load(f"recording:{tmp_path}")


def test_recordings_need_safetensors(good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which packproof itself does not depend on."""
    monkeypatch.setitem(__import__("sys").modules, "safetensors", None)
    with pytest.raises(TargetError, match="pip install safetensors"):
        load(f"recording:{good}")


def test_errors_are_raised_as_they_were(tmp_path: Path) -> None:
    """With the words of the target."""
    packer = recordings.Packer()
    arguments = [packer.pack(argument) for argument in (np.array([3]), 2)]
    trouble = {"kind": "refused", "message": "3 is too long"}
    call = {"operation": "histogram", "arguments": arguments, "error": trouble}
    stored = msgspec.convert({"about": ABOUT, "law": "gone", "calls": [call], "examples": []}, recordings.Stored)
    recordings.write(tmp_path / "x.safetensors", stored, packer.tensors)
    with pytest.raises(Refused, match="3 is too long"):
        Recording(tmp_path).histogram(np.array([3]), 2)


@pytest.mark.slow
def test_run_takes_a_recording_for_a_target(tmp_path: Path) -> None:
    """With a report like any other target; a wrong answer is a new deviation."""
    recorded(museum()["MB-02"].implementation(), tmp_path / "recorded", "CPX-003")
    words = ("run", "--jobs", "1", "--law", "CPX-003", "--report", str(tmp_path / "report"))
    result = CliRunner().invoke(app, [*words, "--target", f"recording:{tmp_path / 'recorded'}"])
    assert result.exit_code == ExitCode.DEVIATION, result.output
    section = events.read(tmp_path / "report" / "events.jsonl")[-1]
    assert [(each.verdict, each.case) for each in section.verdicts] == [("failed", "cases/CPX-003.json")]
    assert section.header.imported == "recorded"


def test_what_cannot_be_loaded_ends_with_exit_code_4() -> None:
    """As for any target."""
    assert USER_ERRORS[TargetError] is ExitCode.TARGET


def test_a_folder_that_holds_no_recording_is_one_sentence(tmp_path: Path) -> None:
    """With the way to make one."""
    with pytest.raises(TargetError, match=r"holds no \.safetensors file: name the folder of a recording"):
        load(f"recording:{tmp_path}")

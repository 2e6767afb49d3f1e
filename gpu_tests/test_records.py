"""Records of kernels hold what the kernels computed, and can be held against the reference later and elsewhere.

pytest gpu_tests/test_records.py --records DIR      writes them, on a GPU machine
pytest gpu_tests/test_records.py --replay DIR       checks them, on a laptop
packproof run --target "recording:DIR/laws/sdpa math" --law 'ATT-*'   runs laws on them, those of a later day too
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import settings
from safetensors.torch import save_file

from conformance.machine import here
from conformance.recorder import record
from conformance.targets.recording import Recording
from gpu_tests import records
from gpu_tests.cases import STREAMS, Case, case_of
from gpu_tests.kernel_target import LAWS_TAKE, KernelTarget
from gpu_tests.kernels import KERNELS, run
from gpu_tests.oracle import streams_of
from properties.law import Verdict, catalogue
from properties.profiles import profile

pytestmark = [pytest.mark.suite("records"), pytest.mark.one_gpu]

DEVICE = "cuda" if here().devices else "cpu"
RECORDED = [
    (name, case)
    for name, kernel in KERNELS.items()
    for case in (case_of(stream, dtype="bfloat16") for stream in STREAMS)
    if DEVICE in kernel.devices and kernel.takes(case)
]

RECORDED_LAWS = [name for name, kernel in KERNELS.items() if DEVICE in kernel.devices and LAWS_TAKE in kernel.dtypes]
LAWS = {key: law for key, law in catalogue().items() if law.matches("ATT-*")}


@pytest.fixture
def folder(pytestconfig: pytest.Config, tmp_path: Path) -> Path:
    """Where ``--records`` wants them; by default nowhere that lasts."""
    return Path(pytestconfig.getoption("--records") or tmp_path)


@pytest.mark.parametrize(("name", "case"), RECORDED, ids=lambda value: str(value))
def test_a_record_holds_what_a_kernel_computed(name: str, case: Case, folder: Path) -> None:
    """Written, read again, and equal to the reference."""
    record = records.read(records.write(folder, case, name, DEVICE, run(KERNELS[name], case, DEVICE)))
    assert record.about["kernel"] == name
    records.check(record)


@pytest.mark.parametrize("name", RECORDED_LAWS)
def test_laws_hold_on_a_recording_of_a_kernel(name: str, folder: Path) -> None:
    """Recorded here, run on what was recorded: the laws about attention on one rank, and none of more ranks."""
    about = {"target": name, "version": str(torch.__version__), "device": records.device_name(DEVICE)}
    place = folder / "laws" / name
    drawn = settings(profile("pr"), max_examples=30)
    assert record(KernelTarget(KERNELS[name], DEVICE), LAWS.values(), place, about, drawn)
    recording = Recording(place)
    found = {key: recording.run(law) for key, law in LAWS.items()}
    assert {outcome.verdict for outcome in found.values()} == {Verdict.PASSED, Verdict.NOT_SUPPORTED}, found
    assert sum(outcome.examples for outcome in found.values()) >= 20
    assert found["ATT-011"].verdict is Verdict.NOT_SUPPORTED, "only several ranks must refuse"


def test_a_record_of_a_wrong_output_is_noticed(tmp_path: Path) -> None:
    """One entry that is off by a tenth."""
    case = case_of("odd tails")
    results = run(KERNELS["sdpa math"], case, DEVICE)
    results["out"][0, 0, 0] += 0.1
    record = records.read(records.write(tmp_path, case, "sdpa math", DEVICE, results))
    with pytest.raises(AssertionError, match=r"1 of \d+ entries differ"):
        records.check(record)


def test_a_file_that_is_no_record_says_what_it_lacks(tmp_path: Path) -> None:
    """Other software writes such files, too."""
    path = tmp_path / "weights.safetensors"
    save_file({"q": streams_of(case_of("odd tails")).q}, path)
    with pytest.raises(ValueError, match="is no record: it lacks d_k, d_out"):
        records.read(path)


def test_records_of_an_earlier_run_still_hold(pytestconfig: pytest.Config, tmp_path: Path) -> None:
    """Every record of the folder that ``--replay`` names; by default, of one that was just written."""
    folder = Path(pytestconfig.getoption("--replay") or tmp_path)
    if folder == tmp_path:
        for stream in ("odd tails", "zero length inside"):
            case = case_of(stream, dtype="bfloat16")
            records.write(folder, case, "sdpa math", DEVICE, run(KERNELS["sdpa math"], case, DEVICE))
    paths = sorted(folder.glob("*.safetensors"))
    assert paths, f"{folder} holds no record"
    for path in paths:
        records.check(records.read(path))

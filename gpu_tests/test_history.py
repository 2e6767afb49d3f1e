"""Figures of every night are kept per model of GPU, and what leaves their range is named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gpu_tests import history, records
from gpu_tests.cases import case_of
from gpu_tests.history import Figure, HistoryError, Night, drifted
from gpu_tests.kernels import KERNELS, run

pytestmark = pytest.mark.suite("records")

CASE = case_of("odd tails", dtype="bfloat16")


def _night(error: float, device: str = "H200", floor: float = 1e-3) -> Night:
    figures = {"out": Figure(error, floor)}
    return Night(date="2026-11-30", device=device, kernel="flash", case="c", torch="2.12.1", figures=figures)


def _records(folder: Path, off_by: float = 0.0) -> Path:
    results = run(KERNELS["sdpa math"], CASE, "cpu")
    results["d_k"][0, 0, 0] += off_by
    records.write(folder, CASE, "sdpa math", "cpu", results)
    return folder


def test_a_kernel_that_does_not_change_does_not_drift(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Four nights, appended to one file."""
    path = tmp_path / "history.jsonl"
    assert [history.main(_records(tmp_path / "records"), path) for _ in range(4)] == [0, 0, 0, 0]
    assert len(history.history(path)) == 4
    assert "1 records, 0 figures drifted" in capsys.readouterr().out


def test_a_kernel_that_becomes_worse_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By its result, kernel, case and device; the other results are not news."""
    path = tmp_path / "history.jsonl"
    for _ in range(3):
        history.main(_records(tmp_path / "records"), path)
    assert history.main(_records(tmp_path / "worse", off_by=0.25), path) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[-2].startswith(f"d_k of sdpa math on {CASE}, ")
    assert said[-1] == "1 records, 1 figures drifted"


@pytest.mark.parametrize(
    ("earlier", "now", "news"),
    [
        ([0.0040, 0.0041, 0.0042], 0.0043, 0),
        ([0.0040, 0.0041, 0.0042], 0.0060, 1),
        ([0.0040, 0.0041, 0.0042], 0.0010, 1),
        ([0.0020, 0.0060, 0.0040], 0.0080, 0),
        ([0.0040, 0.0040, 0.0040], 0.0044, 0),
        ([0.0040, 0.0040], 0.0400, 0),
    ],
    ids=["in the range", "above it", "below it", "a wide range", "half a rounding", "too few nights"],
)
def test_a_figure_drifts_beyond_the_spread_of_its_history(earlier: list[float], now: float, news: int) -> None:
    """Measured from the median, in multiples of the spread."""
    assert len(list(drifted(map(_night, earlier), [_night(now)]))) == news


def test_models_of_gpus_have_histories_of_their_own() -> None:
    """Another chip sums in another order."""
    earlier = [_night(0.004) for _ in range(5)]
    assert not list(drifted(earlier, [_night(0.1, device="H100")]))
    assert list(drifted(earlier, [_night(0.1)]))


def test_padding_is_no_figure(tmp_path: Path) -> None:
    """Outputs at padding mean nothing."""
    record = records.read(next(_records(tmp_path).glob("*.safetensors")))
    spoilt = record.results["out"].clone()
    spoilt[7] = 1000.0
    assert history.measure(replace(record, results={**record.results, "out": spoilt}), "") == history.measure(
        record, ""
    )


def test_a_damaged_history_is_one_sentence(tmp_path: Path) -> None:
    """With the line to remove."""
    path = tmp_path / "history.jsonl"
    history.append(path, [_night(0.1)])
    path.write_bytes(path.read_bytes() + b'{"date": "2026')
    with pytest.raises(HistoryError, match=r"line 2 of .*history.jsonl is no night: Input data was truncated"):
        history.history(path)

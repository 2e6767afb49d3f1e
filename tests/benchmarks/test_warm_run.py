"""How long a warm `packproof run` takes, beside what the import of its target takes; reported, never asserted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from conformance import events

PACKPROOF = [sys.executable, "-P", "-c", "from conformance.cli import main; main()"]


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.benchmark(group="run")
def test_warm_run_of_megatron_bridge(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """`packproof run` as a user types it: self-check, import, pass targets and laws."""
    command = [*PACKPROOF, "run", "--report", str(tmp_path)]
    result = benchmark.pedantic(subprocess.run, (command,), {"capture_output": True}, rounds=1, warmup_rounds=1)
    assert result.returncode == 0, result.stdout
    (section,) = events.read(tmp_path / "events.jsonl")
    assert section.footer is not None
    benchmark.extra_info["seconds of pytest on the target"] = section.footer.seconds
    benchmark.extra_info["seconds inside laws, all workers"] = sum(verdict.seconds for verdict in section.verdicts)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.benchmark(group="run")
def test_import_of_megatron_bridge(benchmark: BenchmarkFixture) -> None:
    """What a process pays before the first law; a run pays it once for the probe and once in every worker."""
    command = [sys.executable, "-P", "-m", "conformance.probe", "megatron-bridge"]
    result = benchmark.pedantic(subprocess.run, (command,), {"capture_output": True}, rounds=1, warmup_rounds=1)
    assert result.returncode == 0

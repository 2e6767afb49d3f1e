"""Megatron Bridge's own packing tests pass with real CUDA: nothing stands in for it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conformance import upstream
from conformance.exit_codes import ExitCode

pytestmark = [pytest.mark.suite("upstream"), pytest.mark.timeout(1800)]

CHECKOUTS = "PACKPROOF_BRIDGE_CHECKOUTS"
"""Environment variable: folders of checkouts, separated as in PATH."""


def test_the_commands_of_a_checkout_pass_with_real_cuda() -> None:
    """``packproof upstream``, with the counts that are recorded for the release; no test may be skipped."""
    checkouts = [Path(path) for path in os.environ.get(CHECKOUTS, "").split(os.pathsep) if path]
    if not checkouts:
        pytest.skip(f"upstream needs a checkout of Megatron Bridge, named by {CHECKOUTS}")
    for checkout in checkouts:
        report = upstream.verify(checkout)
        assert report.verdict is ExitCode.OK, report.findings
        assert report.environment is not None
        assert not report.environment.replaced, "a stand-in for CUDA was used although there is a device"
        assert not any(command.count("skipped") for command in report.commands)

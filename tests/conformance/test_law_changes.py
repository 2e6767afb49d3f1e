"""What became of a law between two runs."""

from __future__ import annotations

import pytest
from logs import verdict

from conformance.events import Blame, Status
from conformance.law_changes import Change, change

PASSED, FAILED, KNOWN, STALE = Status.PASSED, Status.FAILED, Status.FAILED_AS_EXPECTED, Status.STALE
LACKS, ERROR = Status.NOT_SUPPORTED, Status.HARNESS_ERROR


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (PASSED, PASSED, None),
        (KNOWN, KNOWN, None),
        (PASSED, FAILED, Change.BROKEN),
        (PASSED, KNOWN, Change.BROKEN),
        (STALE, FAILED, Change.BROKEN),
        (FAILED, PASSED, Change.FIXED),
        (KNOWN, STALE, Change.FIXED),
        (PASSED, LACKS, Change.LOST),
        (KNOWN, LACKS, Change.LOST),
        (LACKS, PASSED, Change.GAINED),
        (LACKS, KNOWN, Change.GAINED),
        (FAILED, KNOWN, Change.BASELINE),
        (STALE, PASSED, Change.BASELINE),
        (PASSED, ERROR, Change.UNCLEAR),
        (ERROR, FAILED, Change.UNCLEAR),
        (ERROR, Status.ENVIRONMENT_ERROR, Change.UNCLEAR),
    ],
)
def test_a_change_is_one_of_behaviour_not_of_bookkeeping(before: Status, after: Status, kind: Change | None) -> None:
    """What the target does decides; a baseline that was written in between is told apart."""
    assert change(verdict("BIN-001", before), verdict("BIN-001", after)) is kind


def test_a_crash_of_the_target_is_a_failure() -> None:
    crashed = verdict("BIN-001", Status.ENVIRONMENT_ERROR, blame=Blame.TARGET)
    assert change(verdict("BIN-001"), crashed) is Change.BROKEN
    assert change(crashed, verdict("BIN-001")) is Change.FIXED


def test_a_law_of_one_run_only_is_new_or_gone() -> None:
    assert change(None, verdict("BIN-001", FAILED)) is Change.NEW
    assert change(verdict("BIN-001"), None) is Change.GONE
    assert change(None, None) is None

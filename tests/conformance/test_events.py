"""The event log, whole, truncated and foreign."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance import events
from conformance.events import BLAME, Footer, Header, LogError, Status, Verdict
from conformance.exit_codes import ExitCode
from conformance.results import exit_code

HEADER = Header(
    packproof="0.1.0", target="t", target_version="1", versions={}, imported="plain", stand_ins=(), operations=(),
    python="3.12", platform="p", profile="pr", seed=0, started="2026-01-01T00:00:00", baseline=None,
)  # fmt: skip
FOOTER = Footer(finished="2026-01-01T00:00:01", seconds=1.0, counts={}, exit_code=ExitCode.OK)


def verdict(status: Status) -> Verdict:
    return Verdict(
        law="BIN-001", facet="", claim="c", target="t", target_version="1", verdict=status, blame=BLAME[status],
        seconds=0.1, examples=3,
    )  # fmt: skip


def test_a_log_comes_back_as_it_was_written(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    for event in (HEADER, verdict(Status.PASSED), FOOTER):
        events.append(log, event)
    (section,) = events.read(log)
    assert (section.header, section.verdicts, section.footer) == (HEADER, [verdict(Status.PASSED)], FOOTER)
    assert not section.truncated


def test_a_log_without_a_footer_is_truncated(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    events.append(log, HEADER)
    events.append(log, verdict(Status.FAILED))
    (section,) = events.read(log)
    assert section.truncated
    assert len(section.verdicts) == 1


def test_a_half_written_last_line_is_a_truncated_run(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    events.append(log, HEADER)
    with log.open("ab") as file:
        file.write(b'{"kind": "verdict", "law": "BIN')
    assert events.read(log)[0].truncated


@pytest.mark.parametrize("content", [b"", b"\n", b'{"kind": "footer"}\n', b"no log\nat all\n", b'{"kind":"alien"}\n'])
def test_a_foreign_file_is_refused(content: bytes, tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    log.write_bytes(content)
    with pytest.raises(LogError):
        events.read(log)


def test_a_verdict_before_a_header_is_refused(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    events.append(log, verdict(Status.PASSED))
    with pytest.raises(LogError, match="does not start with a header"):
        events.read(log)


@pytest.mark.parametrize(
    ("statuses", "unknown", "code"),
    [
        ([Status.PASSED], 0, ExitCode.OK),
        ([Status.PASSED, Status.FAILED_AS_EXPECTED, Status.NOT_SUPPORTED], 0, ExitCode.OK),
        ([Status.PASSED, Status.FAILED, Status.STALE], 0, ExitCode.DEVIATION),
        ([Status.PASSED, Status.STALE], 0, ExitCode.STALE),
        ([Status.PASSED], 1, ExitCode.STALE),
        ([Status.NOT_SUPPORTED], 0, ExitCode.NOTHING_RAN),
        ([], 0, ExitCode.NOTHING_RAN),
        ([Status.HARNESS_ERROR, Status.FAILED], 0, ExitCode.HARNESS),
        ([Status.ENVIRONMENT_ERROR, Status.FAILED], 0, ExitCode.TARGET),
    ],
)
def test_the_exit_code_names_the_most_fundamental_trouble(
    statuses: list[Status], unknown: int, code: ExitCode
) -> None:
    section = events.Section(HEADER, [verdict(status) for status in statuses])
    assert exit_code(section, unknown_entries=unknown) is code


def test_the_schema_names_every_kind_of_line() -> None:
    text = str(events.json_schema())
    assert all(kind in text for kind in ("header", "verdict", "pass target", "footer"))

"""The Markdown summary that CI systems show beside a job, and the live view of a terminal."""

from __future__ import annotations

import io
from pathlib import Path

import msgspec
from logs import HOSTILE, header, section, verdict
from rich.console import Console

from conformance.events import PassTarget, Status
from conformance.reports import markdown
from conformance.reports.live import live

VERDICTS = (
    verdict("BIN-001", Status.FAILED_AS_EXPECTED, message="known"),
    verdict("BIN-002"),
    verdict("BIN-003[facet]", Status.FAILED, message="new"),
)


def test_pass_targets_and_new_deviations_come_before_known_ones(tmp_path: Path) -> None:
    """What a reader must act on is at the top; the known ones are folded away."""
    head = msgspec.structs.replace(header(), operations=("sequence_params",))
    measured = section(head, *VERDICTS)
    measured.pass_targets.append(
        PassTarget(
            suite="sequence-params", test="t", target="t", target_version="1", verdict=Status.PASSED, seconds=0.1
        )
    )  # fmt: skip
    markdown.write([measured], tmp_path / "summary.md")
    text = (tmp_path / "summary.md").read_text()
    words = ("pass target", "BIN-003", "<summary>1 failed as expected</summary>", "BIN-001")
    order = [text.index(word) for word in words]
    assert order == sorted(order)
    assert "BIN-002" not in text


def test_a_summary_without_known_deviations_has_nothing_to_unfold(tmp_path: Path) -> None:
    markdown.write([section(header(), verdict("BIN-001"))], tmp_path / "summary.md")
    assert "<details>" not in (tmp_path / "summary.md").read_text()


def test_a_terminal_shows_a_loud_verdict_at_once_and_once() -> None:
    """Markup in a name stays text."""
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=120, color_system=None)
    with live(console, "t", 3) as show:
        show(section(header(), *VERDICTS[:2]))
        assert "failed" not in out.getvalue()
        show(section(header(), *VERDICTS))
        show(section(header(), *VERDICTS, verdict("BIN-004[/red]", claim=HOSTILE)))
    assert out.getvalue().count("failed  BIN-003[facet]") == 1


def test_a_pipe_sees_nothing_of_the_live_view() -> None:
    out = io.StringIO()
    with live(Console(file=out, force_terminal=False), "t", 3) as show:
        show(section(header(), *VERDICTS))
    assert out.getvalue().strip() == ""

"""The Markdown summary that CI systems show beside a job."""

from __future__ import annotations

from pathlib import Path

import msgspec
from logs import header, section, verdict

from conformance.events import PassTarget, Status
from conformance.reports import markdown

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


def test_the_tests_that_a_pass_target_lacks_are_named(tmp_path: Path) -> None:
    """A count below the target says what is wrong; the names say where."""
    head = msgspec.structs.replace(header(), operations=("sequence_params",))
    measured = section(head, verdict("BIN-001"))
    measured.pass_targets.append(
        PassTarget(
            suite="sequence-params", test="test_sentinel", target="t", target_version="1", verdict=Status.FAILED,
            seconds=0.1, message="assert 1 == 2\nand more",
        )
    )  # fmt: skip
    markdown.write([measured], tmp_path / "summary.md")
    assert "* test\\_sentinel: failed, assert 1 == 2\n" in (tmp_path / "summary.md").read_text()


def test_a_summary_of_long_messages_fits_a_step(tmp_path: Path) -> None:
    """CI systems refuse more than 1 MiB; four targets that fail in every law stay far below."""
    failures = [verdict(f"BIN-{number:03}", Status.FAILED, message="word " * 10_000) for number in range(476)]
    markdown.write([section(header(), *failures)] * 4, tmp_path / "summary.md")
    assert (tmp_path / "summary.md").stat().st_size < 2**20

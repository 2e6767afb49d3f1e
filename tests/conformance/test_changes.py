"""What changed between two targets, from their sections alone."""

from __future__ import annotations

import json
from dataclasses import fields
from itertools import product
from pathlib import Path

import logs
import msgspec
import pytest
from logs import verdict

from conformance.changes import Changes, Difference, between, between_neighbours
from conformance.events import Blame, Header, PassTarget, Section, Status, Verdict
from conformance.law_changes import Change, change
from conformance.reports import html, matrix
from conformance.reports.columns import Log

HEADER = Header(
    packproof="", target="a", target_version="1", versions={"core": "1"}, imported="", stand_ins=(),
    operations=("vlm_step",), python="", platform="", profile="", seed=0, started="", baseline=None,
    places={"packing": "old.place", "writer": "w"}, defaults={"pad": "1", "gone": "0"},
    policies={"empty_row": "left out"},
)  # fmt: skip
AFTER = msgspec.structs.replace(
    HEADER, target="b", versions={"core": "2"}, places={"packing": "new.place", "writer": "w"},
    defaults={"pad": "2", "came": "x"}, policies={"empty_row": "refused"},
)  # fmt: skip


def section(header: Header, *tests: Status) -> Section:
    passed = [
        PassTarget(suite="vlm-in-batch", test=str(n), target="", target_version="", verdict=status, seconds=0)
        for n, status in enumerate(tests)
    ]
    return Section(header, [], passed)


VERDICTS = [
    *(verdict("BIN-001", status) for status in Status),
    verdict("BIN-001", Status.ENVIRONMENT_ERROR, blame=Blame.TARGET),  # a crash
    None,
]
PAIRS = [pair for pair in product(VERDICTS, VERDICTS) if pair != (None, None)]


def pair_of_sections(before: Verdict | None, after: Verdict | None) -> list[Section]:
    return [
        logs.section(logs.header(f"megatron-bridge=={version}", version), *([found] if found else []))
        for version, found in (("0.5.1", before), ("0.6.2", after))
    ]


def test_the_matrix_and_the_page_decide_by_one_rule(tmp_path: Path) -> None:
    """For every pair of verdicts, the JSON, the Markdown and the page say what ``law_changes.change`` says."""
    seen: set[Change | None] = set()
    for before, after in PAIRS:
        sections = pair_of_sections(before, after)
        kind = change(before, after)
        seen.add(kind)
        step = between_neighbours(sections)
        matrix.write_json(sections, step, tmp_path / "matrix.json")
        matrix.write_markdown(sections, step, tmp_path / "matrix.md")
        found = json.loads((tmp_path / "matrix.json").read_bytes())["changes"][0]
        assert [name for name in Change if found[name]] == ([kind] if kind else [])
        titles = [title for title in matrix.LISTS.values() if f"* {title} " in (tmp_path / "matrix.md").read_text()]
        assert titles == ([matrix.LISTS[kind]] if kind else [])
        page = html.render([Log(section) for section in sections])
        (law,) = json.loads(page.partition('id="data">')[2].partition("</script>")[0])["laws"]
        assert law["changes"] == ({"0-1": kind} if kind else {})
        assert (f"1 {kind}</button>" in page) == bool(kind)
    assert seen == {None, *Change}


def test_every_kind_of_change_is_told() -> None:
    """A kind without a title or a field would be left out in silence."""
    assert set(matrix.LISTS) == set(Change)
    assert {str(kind) for kind in Change} <= {field.name for field in fields(Changes)}


def test_a_crash_in_the_later_release_is_a_new_deviation() -> None:
    """A target that kills its process is broken, whatever the verdict is called."""
    crash = verdict("BIN-001", Status.ENVIRONMENT_ERROR, blame=Blame.TARGET)
    found = between(*pair_of_sections(verdict("BIN-001"), crash))
    assert found.broken == ("BIN-001",)
    assert between(*pair_of_sections(crash, verdict("BIN-001"))).fixed == ("BIN-001",)


@pytest.mark.parametrize("cut", [0, 1])
def test_a_law_that_a_truncated_run_did_not_come_to_is_no_change(cut: int) -> None:
    """It is neither new nor gone: nothing is known of it."""
    sections = pair_of_sections(verdict("BIN-001"), verdict("BIN-001", Status.FAILED))
    sections[cut].verdicts.clear()
    whole = between(*sections)
    assert (whole.new, whole.gone) == ((("BIN-001",), ()) if cut == 0 else ((), ("BIN-001",)))
    sections[cut].footer = None
    truncated = between(*sections)
    assert (truncated.new, truncated.gone, truncated.broken) == ((), (), ())


def test_places_defaults_policies_versions_and_pass_targets_are_told_on_both_sides() -> None:
    """What came has nothing before it, what went nothing after it; what stayed is left out."""
    found: Changes = between(
        section(HEADER, Status.PASSED, Status.PASSED), section(AFTER, Status.PASSED, Status.FAILED)
    )
    assert found.versions == (Difference("core", "1", "2"),)
    assert found.places == (Difference("packing", "old.place", "new.place"),)
    assert found.defaults == (
        Difference("pad", "1", "2"),
        Difference("gone", "0", None),
        Difference("came", None, "x"),
    )
    assert found.policies == (Difference("empty_row", "left out", "refused"),)
    assert found.pass_targets == (Difference("vlm-in-batch", "2 of 2", "1 of 2"),)


def test_neighbours_are_compared_in_the_order_given() -> None:
    """Three targets make two steps."""
    sections = [section(msgspec.structs.replace(HEADER, target=name)) for name in "abc"]
    assert [(step.before, step.after) for step in between_neighbours(sections)] == [("a", "b"), ("b", "c")]

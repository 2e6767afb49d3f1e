"""The HTML page, without a browser: structure, escape and size."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shlex
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest
from logs import CUT_CASE, HOSTILE, header, release, saying, section, verdict, write_run

from conformance import cases
from conformance.events import Status
from conformance.reports import html
from conformance.reports.columns import Log
from conformance.reports.merging import merge
from conformance.reports.reading import logs_of
from properties.law import catalogue

ABSENT = "\N{EN DASH}"
"""How the page shows that a target has no such thing."""


class Page(HTMLParser):
    """Tags, attributes and the contents of scripts and styles of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.source = text
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.raw: dict[str, str] = {}
        self.text: list[str] = []
        self._open = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in {"script", "style"}:
            self._open = f"{tag} {dict(attrs).get('id', '')}".strip()

    def handle_endtag(self, tag: str) -> None:
        if tag in {"script", "style"}:
            self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open:
            self.raw[self._open] = self.raw.get(self._open, "") + data
        else:
            self.text.append(data)

    @property
    def data(self) -> dict[str, Any]:
        return json.loads(self.raw["script data"])

    @property
    def shown(self) -> str:
        return " ".join(" ".join(self.text).split())


def page_of(*logs: Log, diff: bool = False) -> Page:
    return Page(html.render(list(logs), diff=diff))


@pytest.fixture
def run(tmp_path: Path) -> Log:
    """A run with one deviation whose case lies beside the log."""
    broken = verdict(
        "CPX-001", Status.FAILED, case=f"cases/{CUT_CASE.file_name}", upstream="Megatron-Bridge #4891",
        message="does not hold: all slots are owned\n  expected: [0, 1, 2]\n       got: [0, 1]", known_as=("MB-44",),
    )  # fmt: skip
    lacking = verdict("THD-001", Status.NOT_SUPPORTED, message="the target has no sequence_params")
    folder = write_run(tmp_path / "run", section(header(), verdict("BIN-001"), broken, lacking), recorded=(CUT_CASE,))
    return logs_of(folder)[0]


def law_of(page: Page, key: str) -> dict[str, Any]:
    return next(law for law in page.data["laws"] if law["key"] == key)


def test_a_deviation_shows_all_that_is_known_of_it(run: Log) -> None:
    page = page_of(run)
    law = law_of(page, "CPX-001")
    (found,) = law["findings"]
    assert law["text"] == catalogue()["CPX-001"].text
    assert law["needs"] == ["partition"]
    assert (found["expected"], found["got"]) == ("[0, 1, 2]", "[0, 1]")
    assert found["message"] == "does not hold: all slots are owned"
    before, after = page.data["columns"][0]["runs"][0]["replay"]
    command = f"packproof replay {run.folder}/cases/{CUT_CASE.file_name} --target megatron-bridge"
    assert before + found["cases"][0] + after == command
    assert found["links"] == [["Megatron-Bridge #4891", "https://github.com/NVIDIA-NeMo/Megatron-Bridge/issues/4891"]]
    assert found["known"] == ["MB-44"]
    assert page.data["bugs"]["MB-44"]["suffered"]
    assert found["drawings"] == [0]
    drawings = [attributes for tag, attributes in page.tags if tag == "svg" and attributes.get("class") == "picture"]
    assert "CP rank: 0 1 1 0 0 1 1 0" in str(drawings[0]["aria-label"])


def test_the_header_says_what_was_measured_and_how(run: Log) -> None:
    shown = page_of(run).shown
    for words in ("megatron-bridge==0.5.1", "modelopt", "pr, seed 7", "isolated", "Python 3.12", "✗ 1 new deviation"):
        assert words in shown


def test_what_is_not_supported_is_no_pass(run: Log) -> None:
    """One of three laws passed; leaving the unsupported one out would make it half."""
    assert "1 of 3 laws passed (33.3 %), 1 not supported" in page_of(run).shown


def test_a_truncated_run_is_warned_of_and_counted_against_its_plan() -> None:
    log = Log(section(header(planned=10), verdict("BIN-001"), truncated=True))
    shown = page_of(log).shown
    assert "Truncated run." in shown
    assert "1 of 10 laws passed (10.0 %)" in shown
    assert "Truncated run." not in page_of(Log(section(header(), verdict("BIN-001")))).shown


def test_nothing_that_a_run_says_becomes_markup(tmp_path: Path) -> None:
    """Names, messages and cases of a hostile run add no element, and come back from the data as they were."""
    case = cases.Case(law="CPX-001", inputs=CUT_CASE.inputs, expected=HOSTILE, got=f"{HOSTILE} too")
    broken = verdict(
        "CPX-001", Status.FAILED, claim=HOSTILE, harm="", message=HOSTILE, upstream=f"javascript:alert(1) {HOSTILE}",
        case=f"cases/{case.file_name}", known_as=(HOSTILE,),
    )  # fmt: skip
    unknown = verdict(f"{HOSTILE}-1", Status.FAILED, message=HOSTILE)
    folder = write_run(tmp_path / "run", section(saying(HOSTILE), broken, unknown), recorded=(case,))
    hostile = page_of(*logs_of(folder))
    laws = (verdict("CPX-001", Status.FAILED), verdict("X-1", Status.FAILED))
    harmless = page_of(Log(section(saying("t"), *laws)))
    pictures = {"template", "svg", "rect", "text", "tspan", "path"}
    tags = [[tag for tag, _ in page.tags if tag not in pictures] for page in (hostile, harmless)]
    assert tags[0] == tags[1]
    assert not [name for _, attributes in hostile.tags for name in attributes if name.startswith("on")]
    assert not [attributes for tag, attributes in hostile.tags if "href" in attributes and tag != "a"]
    assert not set("<>&") & set(hostile.raw["script data"])  # browsers end a script where Python's parser does not
    (found,) = law_of(hostile, "CPX-001")["findings"]
    assert (found["message"], found["expected"]) == (HOSTILE, HOSTILE)
    assert "links" not in found


def test_a_replay_command_is_safe_to_paste(tmp_path: Path) -> None:
    """A folder and a target are one word of the command each, whatever they hold."""
    target = "module:a; rm -rf $HOME:`x`"
    broken = verdict("CPX-001", Status.FAILED, case=f"cases/{CUT_CASE.file_name}")
    folder = write_run(tmp_path / "it's a run", section(header(target), broken), recorded=(CUT_CASE,))
    page = page_of(*logs_of(folder))
    (found,) = law_of(page, "CPX-001")["findings"]
    before, after = page.data["columns"][0]["runs"][0]["replay"]
    path = str(folder / "cases" / CUT_CASE.file_name)
    assert shlex.split(before + found["cases"][0] + after) == ["packproof", "replay", path, "--target", target]


def test_a_case_outside_of_the_run_is_not_read(tmp_path: Path) -> None:
    cases.write(CUT_CASE, tmp_path / "secret.json")
    stray = verdict("CPX-001", Status.FAILED, case="../secret.json")
    folder = write_run(tmp_path / "run", section(header(), stray))
    (found,) = law_of(page_of(*logs_of(folder)), "CPX-001")["findings"]
    assert found["notes"] == ["the case lies outside of the run's folder"]
    assert "expected" not in found


@pytest.mark.parametrize("old", [True, False])
def test_a_claim_without_values_shows_none(tmp_path: Path, old: bool) -> None:
    """Nor does a case of an older packproof, which wrote the word None twice."""
    nothing = "None" if old else None
    case = cases.Case(law="CPX-001", inputs=CUT_CASE.inputs, expected=nothing, got=nothing)
    broken = verdict("CPX-001", Status.FAILED, case=f"cases/{case.file_name}", message="does not hold: it is there")
    folder = write_run(tmp_path / "run", section(header(), broken), recorded=(case,))
    (found,) = law_of(page_of(*logs_of(folder)), "CPX-001")["findings"]
    assert "expected" not in found
    assert "got" not in found
    assert found["message"] == "does not hold: it is there"


def test_a_claim_with_one_value_shows_that_one(tmp_path: Path) -> None:
    """A value that really is None is shown as such."""
    message = "does not hold: there is one\n       got: None"
    case = cases.Case(law="CPX-001", inputs=CUT_CASE.inputs, got="None", message=message)
    broken = verdict("CPX-001", Status.FAILED, case=f"cases/{case.file_name}", message=message)
    folder = write_run(tmp_path / "run", section(header(), broken), recorded=(case,))
    (found,) = law_of(page_of(*logs_of(folder)), "CPX-001")["findings"]
    assert "expected" not in found
    assert (found["got"], found["message"]) == ("None", "does not hold: there is one")


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "No such file"), ("{", "is no case file"), ('{"law": "CPX-001", "inputs": {}}', "the law takes")],
)
def test_a_case_that_cannot_be_read_is_a_note(content: str | None, words: str, tmp_path: Path) -> None:
    broken = verdict("CPX-001", Status.FAILED, case="cases/x.json", message="broken")
    folder = write_run(tmp_path / "run", section(header(), broken))
    if content is not None:
        (folder / "cases").mkdir()
        (folder / "cases" / "x.json").write_text(content)
    (found,) = law_of(page_of(*logs_of(folder)), "CPX-001")["findings"]
    assert words in found["notes"][0]
    assert found["message"] == "broken"


def test_the_page_may_load_nothing_and_run_only_its_own_script(run: Log) -> None:
    page = page_of(run)
    policy = next(str(attributes["content"]) for _, attributes in page.tags if "http-equiv" in attributes)
    for name, directive in (("script", "script-src"), ("style", "style-src")):
        digest = base64.b64encode(hashlib.sha256(page.raw[name].encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    loading = [tag for tag, attributes in page.tags if "src" in attributes or (tag == "link")]
    assert loading == []
    assert not re.findall(r"innerHTML|eval\(|document\.write", page.raw["script"])


def test_neighbouring_releases_are_compared_in_counts() -> None:
    old = release("0.4.2", {"BIN-001": Status.PASSED, "BIN-002": Status.FAILED})
    new = release("0.5.1", {"BIN-001": Status.FAILED, "BIN-002": Status.PASSED, "BIN-003": Status.PASSED})
    page = page_of(old, new)
    assert law_of(page, "BIN-001")["changes"] == {"0-1": "broken"}
    buttons = [attributes["data-query"] for _, attributes in page.tags if "data-query" in attributes]
    release_range = '"megatron-bridge==0.4.2..megatron-bridge==0.5.1"'
    assert buttons == [f"{kind}:{release_range}" for kind in ("broken", "fixed", "new")]


def facts_of(page: Page) -> dict[str, list[tuple[str, bool]]]:
    """Cells of the table of what was measured, each with whether it is marked, by the name of the fact."""
    rows = re.findall(r"<tr><th scope=\"row\">(.*?)</th>(.*?)</tr>", page.source, re.DOTALL)
    cell = re.compile(r"<td( class=\"differs\")?>(?:<span[^>]*>≠</span> )?(.*?)</td>")
    return {name: [(text, bool(mark)) for mark, text in cell.findall(cells)] for name, cells in rows}


def measured(version: str, **fields: object) -> Log:
    return Log(section(msgspec.structs.replace(header("t", version), **fields), verdict("BIN-001")))


def test_what_was_measured_is_set_side_by_side() -> None:
    """What differs from the neighbour on the left is marked; what a target lacks is a dash."""
    page = page_of(
        measured("1", places={"packer": "old.place"}, policies={"overlong": "dropped"}, stand_ins=("a", "b")),
        measured("2", places={"packer": "new.place"}, policies={"overlong": "dropped"}, defaults={"pad": "0"}),
        measured("3", places={"packer": "new.place"}, policies={"overlong": "split"}, defaults={"pad": "0"}),
    )
    found = facts_of(page)
    assert found["packer"] == [("old.place", False), ("new.place", True), ("new.place", False)]
    assert found["overlong"] == [("dropped", False), ("dropped", False), ("split", True)]
    assert found["pad"] == [(ABSENT, False), ("0", True), ("0", False)]
    assert found["a"] == [("stood in for", False), (ABSENT, True), (ABSENT, False)]
    assert found["partition"] == [("offered", False)] * 3
    assert "import places: 1" in page.shown
    assert "declared policies: 1" in page.shown


def test_a_difference_compares_each_pair_by_itself() -> None:
    """The second pair does not differ from the first one."""
    logs = [measured(version, policies={"overlong": version}) for version in ("1", "2", "3", "3")]
    marks = [mark for _, mark in facts_of(page_of(*logs, diff=True))["overlong"]]
    assert marks == [False, True, False, False]


def test_one_target_alone_shows_its_facts_unmarked() -> None:
    page = page_of(measured("1", places={"packer": "a.place"}))
    assert facts_of(page)["packer"] == [("a.place", False)]
    assert "neighbour" not in page.shown.partition("What was measured")[2].partition("≠")[0]


def test_findings_that_are_the_same_are_shown_once() -> None:
    same, other = {"BIN-001": Status.FAILED}, {"BIN-001": Status.FAILED_AS_EXPECTED}
    page = page_of(release("0.4.2", same), release("0.5.1", same), release("0.6.2", other))
    assert [found["columns"] for found in law_of(page, "BIN-001")["findings"]] == [[0, 1], [2]]


def test_neighbours_without_a_new_deviation_are_said_to_have_none() -> None:
    """*What broke* has an answer where nothing did."""
    old, new = release("0.5.1", {"BIN-001": Status.FAILED}), release("0.6.2", {"BIN-001": Status.PASSED})
    assert "nothing broken" in page_of(old, new).shown
    assert "nothing broken" not in page_of(new, old).shown
    assert "no law changed" in page_of(old, old).shown


def test_a_difference_opens_with_what_changed_in_each_pair() -> None:
    statuses = {"a": Status.PASSED, "b": Status.FAILED, "c": Status.PASSED, "d": Status.FAILED}
    logs = [release(version, {"BIN-001": status}) for version, status in statuses.items()]
    page = page_of(*logs, diff=True)
    assert page.data["query"] == "changed"
    assert page.data["neighbours"] == ["0-1", "2-3"]


def test_a_merged_column_says_which_run_a_verdict_comes_from(tmp_path: Path) -> None:
    """Its case is read there and replayed from there, and each run is shown with its machine, profile and seed."""
    lacks = verdict("CPX-001", Status.NOT_SUPPORTED)
    broken = verdict("CPX-001", Status.FAILED, case=f"cases/{CUT_CASE.file_name}")
    gpu_header = msgspec.structs.replace(header(), platform="a machine with a GPU", profile="nightly", seed=99)
    cpu = write_run(tmp_path / "cpu", section(header(), lacks, verdict("BIN-001")))
    gpu = write_run(tmp_path / "gpu", section(gpu_header, broken), recorded=(CUT_CASE,))
    page = page_of(*merge([*logs_of(cpu), *logs_of(gpu)]))
    (column,) = page.data["columns"]
    assert [run["name"] for run in column["runs"]] == [str(cpu), str(gpu)]
    (found,) = law_of(page, "CPX-001")["findings"]
    assert (found["runs"], found["expected"]) == ([1], "[0, 1, 2]")
    assert column["runs"][1]["replay"][0] + found["cases"][0] == f"packproof replay {gpu}/cases/{CUT_CASE.file_name}"
    assert law_of(page, "BIN-001")["measured"] == [[3, 0.1, 0]]
    assert "1 of 2 laws passed (50.0 %)" in page.shown
    assert "a machine with a GPU" in page.shown
    assert f"{cpu}: pr, seed 7; {gpu}: nightly, seed 99" in page.shown


def test_columns_of_one_release_are_told_apart(tmp_path: Path) -> None:
    logs = [log for name in "ab" for log in logs_of(write_run(tmp_path / name, section(header(), verdict("BIN-001"))))]
    handles = [column["handle"] for column in page_of(*logs).data["columns"]]
    assert handles == [f"{tmp_path / name}:megatron-bridge==0.5.1" for name in "ab"]
    assert len({column["handle"] for column in page_of(logs[0], logs[0], logs[0]).data["columns"]}) == 3


def test_a_page_of_four_targets_and_all_laws_stays_small(tmp_path: Path) -> None:
    """Even when every law fails everywhere, each time with another long message and a drawing, and all has moved."""
    keys = [f"CPX-{number:03}" for number in range(476)]
    logs: list[Log] = []
    for number in range(4):
        failures = [
            verdict(key, Status.FAILED, message=f"{number} {key} {'word ' * 400}", case=f"cases/{key}.json")
            for key in keys
        ]
        moved = {f"part {part}": f"megatron.bridge.place{number}.of.part{part} " * 2 for part in range(50)}
        head = msgspec.structs.replace(header("t", str(number)), places=moved, defaults=moved, policies=moved)
        folder = write_run(tmp_path / str(number), section(head, *failures))
        for key in keys:
            known = cases.Case(law="CPX-001", inputs=CUT_CASE.inputs, got=f"{number}{key}" * 50)
            cases.write(known, folder / "cases" / f"{key}.json")
        logs += logs_of(folder)
    text = html.render(logs)
    assert len(text.encode()) < html.MOST_BYTES
    assert "characters more)" in text
    assert len(Page(text).data["laws"]) == 476


def test_a_log_of_unknown_laws_is_shown_with_what_it_says() -> None:
    law = law_of(page_of(Log(section(header(), verdict("ZZZ-999[of tomorrow]")))), "ZZZ-999[of tomorrow]")
    assert (law["area"], law["harm"], law["text"]) == ("ZZZ", "tokens are lost", "")


def test_one_finding_of_two_targets_keeps_the_case_of_each(tmp_path: Path) -> None:
    """Cases of several targets in one folder have names of their own; what they say is shown once."""
    for name in ("a.json", "b.json"):
        cases.write(CUT_CASE, tmp_path / "run" / "cases" / name)
    sections = [
        section(header(target), verdict("CPX-001", Status.FAILED, case=f"cases/{target}.json")) for target in "ab"
    ]
    page = page_of(*logs_of(write_run(tmp_path / "run", *sections)))
    (found,) = law_of(page, "CPX-001")["findings"]
    assert found["columns"] == [0, 1]
    assert found["cases"] == ["cases/a.json", "cases/b.json"]

"""The HTML page in a real browser, opened from a file: filters, queries, keys, escape, accessibility."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
from axe_playwright_python.sync_playwright import Axe
from logs import CUT_CASE, HOSTILE, header, release, saying, section, verdict, write_run
from playwright.sync_api import Browser, Page, expect, sync_playwright

from conformance import cases
from conformance.events import Blame, Status
from conformance.reports import html
from conformance.reports.columns import Log
from conformance.reports.merging import merge
from conformance.reports.reading import logs_of
from properties.law import catalogue

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

PASSED, FAILED, KNOWN, LACKS = Status.PASSED, Status.FAILED, Status.FAILED_AS_EXPECTED, Status.NOT_SUPPORTED
RELEASES = {
    "0.4.2": {"BIN-001": PASSED, "BIN-002": KNOWN, "COL-001[empty]": PASSED, "CPX-001": LACKS, "CPX-002": PASSED},
    "0.5.1": {"BIN-001": PASSED, "BIN-002": KNOWN, "COL-001[empty]": KNOWN, "CPX-001": FAILED, "CPX-002": PASSED},
    "0.6.2": {"BIN-001": FAILED, "BIN-002": PASSED, "COL-001[empty]": PASSED, "CPX-001": FAILED, "CPX-002": PASSED},
}
A, B, C = (f"megatron-bridge=={version}" for version in RELEASES)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium as the system has it; a machine without one cannot judge the page, so the tests fail there."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert chromium, "this test needs Chromium: install the system's package of that name"
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path) -> Iterator[Any]:
    """Opens a page from its file; it may neither complain nor ask for anything else."""
    opened: list[Page] = []
    complaints: list[str] = []

    def go(*logs: Log, diff: bool = False, fragment: str = "", scheme: Literal["light", "dark"] = "light") -> Page:
        file = tmp_path / "folder with a #" / "index.html"
        html.write(logs, file, diff=diff)
        page = browser.new_page(color_scheme=scheme)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on("request", lambda asked: complaints.append(asked.url) if not asked.url.startswith("file:") else None)
        page.goto(file.as_uri() + fragment)
        opened.append(page)
        return page

    yield go
    for page in opened:
        page.close()
    assert complaints == []


@pytest.fixture
def matrix(open_page: Any) -> Page:
    """Three releases."""
    return open_page(*(release(version, statuses) for version, statuses in RELEASES.items()))


@pytest.fixture
def run(tmp_path: Path) -> Log:
    """A run with one deviation, drawn."""
    broken = verdict(
        "CPX-001", FAILED, case=f"cases/{CUT_CASE.file_name}", upstream="Megatron-Bridge #4891", message="all owned"
    )
    folder = write_run(tmp_path / "run", section(header(), verdict("BIN-001"), broken), recorded=(CUT_CASE,))
    return logs_of(folder)[0]


def shown(page: Page) -> list[str]:
    """Laws that the matrix shows."""
    return page.locator("tr.law:visible th button").all_inner_texts()


def test_everything_is_shown_at_first(matrix: Page) -> None:
    assert shown(matrix) == list(RELEASES["0.4.2"])
    expect(matrix.locator("#found")).to_have_text("5 of 5 laws")
    expect(matrix.locator("tr.law").nth(1).locator("td.verdict")).to_have_text(
        ["≈ failed as expected", "≈ failed as expected", "✓ passed"]
    )


@pytest.mark.parametrize(
    ("query", "laws"),
    [
        ("cpx", ["CPX-001", "CPX-002"]),
        ("claim 002", ["BIN-002", "CPX-002"]),
        ("failed", ["BIN-001", "CPX-001"]),
        ("failed as expected", ["BIN-002", "COL-001[empty]"]),
        ('"not supported"', ["CPX-001"]),
        ("not supported", ["CPX-001"]),
        ("not-supported", ["CPX-001"]),
        (f"failed:{B}", ["CPX-001"]),
        ("failed-as-expected:0.5.1", ["BIN-002", "COL-001[empty]"]),
        (f"only:{B}", ["COL-001[empty]"]),
        (f"only:{C}", ["BIN-001"]),
        (f"only:{A}", []),
        ("changed", ["BIN-001", "BIN-002", "COL-001[empty]", "CPX-001"]),
        (f"broken:{B}..{C}", ["BIN-001"]),
        (f"fixed:{B}..{C}", ["BIN-002", "COL-001[empty]"]),
        (f"changed:{A}..{C}", ["BIN-001", "BIN-002", "CPX-001"]),
        ("gained", ["CPX-001"]),
        ("changed -cpx", ["BIN-001", "BIN-002", "COL-001[empty]"]),
        ("-failed -failed-as-expected", ["CPX-002"]),
        ("no such law", []),
    ],
)
def test_a_query_shows_the_laws_that_it_asks_for(matrix: Page, query: str, laws: list[str]) -> None:
    matrix.locator("#query").fill(query)
    assert shown(matrix) == laws
    expect(matrix.locator("#found")).to_have_text(f"{len(laws)} of 5 laws")


@pytest.mark.parametrize(
    ("query", "words"), [("only:0.9", 'there is no column "0.9"'), ("broken:0.5.1", "is no range"), ("only:", "")]
)
def test_a_query_that_means_nothing_is_answered(matrix: Page, query: str, words: str) -> None:
    matrix.locator("#query").fill(query)
    expect(matrix.locator("#found")).to_contain_text(words)
    if words:
        expect(matrix.locator("#query")).to_have_attribute("aria-invalid", "true")
        matrix.locator("#query").fill("")
        expect(matrix.locator("#query")).not_to_have_attribute("aria-invalid", "true")


def test_what_broke_between_two_releases_is_two_clicks(matrix: Page) -> None:
    """The first names the laws, the second shows what happened to one."""
    matrix.locator("p", has_text=f"{B} → {C}").get_by_role("button", name="1 broken").click()
    expect(matrix.locator("#found")).to_have_text("1 of 5 laws")
    assert shown(matrix) == ["BIN-001"]
    matrix.get_by_role("button", name="BIN-001").click()
    expect(matrix.locator("tr.part .finding")).to_contain_text(C)


def test_a_crash_counts_as_broken_in_every_query(open_page: Any) -> None:
    """As it does in the counts between neighbours; an error of the environment does not."""
    crash = verdict("BIN-001", Status.ENVIRONMENT_ERROR, blame=Blame.TARGET)
    unloaded = verdict("BIN-002", Status.ENVIRONMENT_ERROR)
    page = open_page(
        release("0.5.1", {"BIN-001": PASSED, "BIN-002": PASSED}), Log(section(header(C, "0.6.2"), crash, unloaded))
    )
    for query, laws in ((f"only:{C}", ["BIN-001"]), ("broken", ["BIN-001"]), ("unclear", ["BIN-002"])):
        page.locator("#query").fill(query)
        assert shown(page) == laws
    page.locator("#query").fill(f"broken:{C}..{B}")
    expect(page.locator("#found")).to_contain_text("is no range")


def moved(version: str, place: str) -> Log:
    """A release that has its packer in a place of its own."""
    head = msgspec.structs.replace(header("t", version), places={"packer": place}, policies={"overlong": "dropped"})
    return Log(section(head, verdict("BIN-001")))


def test_what_was_measured_is_opened_and_filtered_without_a_mouse(open_page: Any) -> None:
    """What moved is there first; what stayed is one key away."""
    page = open_page(moved("1", "old.place"), moved("2", "new.place"))
    summary = page.locator("summary", has_text="What was measured")
    packer, overlong = (page.get_by_role("row", name=re.compile(f"^{name}")) for name in ("packer", "overlong"))
    expect(packer).to_be_hidden()
    summary.focus()
    page.keyboard.press("Enter")
    expect(packer).to_be_visible()
    expect(packer.get_by_role("cell")).to_have_text(["old.place", "≠ new.place"])
    expect(overlong).to_be_hidden()
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(overlong).to_be_visible()


def test_a_merged_run_says_where_a_verdict_comes_from(open_page: Any, run: Log, tmp_path: Path) -> None:
    """The finding names the run, and its command replays that run's case."""
    lacking = section(header(), verdict("CPX-001", LACKS), verdict("BIN-001"))
    page = open_page(*merge([*logs_of(write_run(tmp_path / "cpu", lacking)), run]))
    expect(page.locator("article")).to_have_count(1)
    page.get_by_role("button", name="CPX-001").click()
    part = page.locator("tr.part")
    expect(part.locator("h3")).to_contain_text(f"megatron-bridge==0.5.1 ({run.folder})")
    expect(part).to_contain_text(f"packproof replay {run.folder}/cases/CPX-001.json --target megatron-bridge")
    expect(part.get_by_role("img")).to_be_visible()


def test_filters_work_together_and_are_reset(matrix: Page) -> None:
    matrix.get_by_role("button", name="failed as expected").click()
    assert shown(matrix) == ["BIN-002", "COL-001[empty]"]
    matrix.get_by_label("Area").select_option("COL")
    assert shown(matrix) == ["COL-001[empty]"]
    matrix.get_by_role("button", name="Reset").click()
    expect(matrix.locator("#found")).to_have_text("5 of 5 laws")
    expect(matrix.get_by_role("button", name="failed as expected")).to_have_attribute("aria-pressed", "false")


def test_a_case_opens_with_its_drawing_values_command_and_link(open_page: Any, run: Log) -> None:
    page = open_page(run)
    page.get_by_role("button", name="CPX-001").click()
    part = page.locator("tr.part")
    expect(part).to_contain_text(catalogue()["CPX-001"].text)
    expect(part).to_contain_text("[0, 1, 2]")
    expect(part.get_by_role("img")).to_be_visible()
    expect(part.get_by_role("img")).to_contain_text("CP rank")
    expect(part).to_contain_text(f"packproof replay {run.folder}/cases/CPX-001.json --target megatron-bridge")
    link = part.get_by_role("link", name="Megatron-Bridge #4891")
    expect(link).to_have_attribute("href", "https://github.com/NVIDIA-NeMo/Megatron-Bridge/issues/4891")
    part.get_by_role("button", name="Copy").click()
    expect(part.locator(".command button")).to_have_text(re.compile("Copied|Selected"))
    page.get_by_role("button", name="CPX-001").click()
    expect(part).to_have_count(0)


def test_documents_and_ranks_are_filled_with_different_patterns(open_page: Any, run: Log) -> None:
    """The drawing refers to fills that the page really has."""
    page = open_page(run)
    page.get_by_role("button", name="CPX-001").click()
    fills = page.locator("tr.part rect").evaluate_all("rects => rects.map(r => getComputedStyle(r).fill)")
    assert len(set(fills)) == 5  # two documents, padding, two ranks
    names = {fill.split("#")[1].rstrip('")') for fill in fills if "url" in fill}
    assert names == {"fill-pad", "fill-rank0", "fill-rank1"}
    assert all(page.locator(f"#{name}").count() == 1 for name in names)


def test_the_page_is_used_without_a_mouse(matrix: Page) -> None:
    keys = matrix.keyboard
    keys.press("/")
    expect(matrix.locator("#query")).to_be_focused()
    keys.type("CPX")
    keys.press("ArrowDown")
    keys.press("ArrowDown")
    expect(matrix.get_by_role("button", name="CPX-002")).to_be_focused()
    keys.press("k")
    law = matrix.get_by_role("button", name="CPX-001")
    expect(law).to_be_focused()
    keys.press("Enter")
    expect(law).to_have_attribute("aria-expanded", "true")
    keys.press("Enter")
    expect(law).to_have_attribute("aria-expanded", "false")
    keys.press("Escape")
    expect(matrix.locator("#query")).to_be_focused()


def test_every_control_is_reached_with_tab(matrix: Page) -> None:
    reached: set[str] = set()
    for _ in range(60):
        matrix.keyboard.press("Tab")
        reached.add(matrix.evaluate("document.activeElement.textContent.trim() || document.activeElement.id"))
    assert {"query", "Reset", "1 broken", *RELEASES["0.4.2"]} <= reached


def test_a_view_can_be_sent_to_somebody(matrix: Page, open_page: Any) -> None:
    """Query, filters and opened laws are in the address."""
    matrix.locator("#query").fill("CPX")
    matrix.get_by_role("button", name="CPX-001").click()
    fragment = matrix.url[matrix.url.rindex("#") :]
    again = open_page(*(release(version, statuses) for version, statuses in RELEASES.items()), fragment=fragment)
    assert shown(again) == ["CPX-001", "CPX-002"]
    expect(again.get_by_role("button", name="CPX-001")).to_have_attribute("aria-expanded", "true")


def test_a_difference_shows_what_changed(open_page: Any) -> None:
    page = open_page(release("0.5.1", RELEASES["0.5.1"]), release("0.6.2", RELEASES["0.6.2"]), diff=True)
    expect(page.locator("#query")).to_have_value("changed")
    assert shown(page) == ["BIN-001", "BIN-002", "COL-001[empty]"]


def test_nothing_hostile_is_run_or_linked(open_page: Any, tmp_path: Path) -> None:
    """Names and messages are shown as text; no dialog opens, no image is asked for, and nothing unsafe is linked."""
    case = cases.Case(law="CPX-001", inputs=CUT_CASE.inputs, expected=HOSTILE, got=f"{HOSTILE} too")
    broken = verdict(
        "CPX-001", FAILED, claim=HOSTILE, harm=HOSTILE, message=HOSTILE, case=f"cases/{case.file_name}",
        upstream="javascript:alert(3)", known_as=("javascript:alert(4)",),
    )  # fmt: skip
    unknown = verdict(f"{HOSTILE}-1", FAILED, message=HOSTILE)
    folder = write_run(tmp_path / "run", section(saying(HOSTILE), broken, unknown), recorded=(case,))
    page = open_page(*logs_of(folder))
    for button in page.locator("tr.law th button").all():
        button.click()
    assert page.locator("tr.part").count() == 2
    assert page.locator("img").count() == 0
    expect(page.locator("tr.part").first.or_(page.locator("tr.part").last)).to_have_count(2)
    assert "onerror=alert(2)" in page.locator("tr.part").first.inner_text()
    page.locator("summary", has_text="What was measured").click()
    expect(page.locator(".measured").get_by_role("row").last).to_contain_text("onerror=alert(2)")
    schemes = page.locator("a").evaluate_all("links => links.map(link => link.protocol)")
    assert set(schemes) <= {"https:", "file:"}  # file: is the link to the laws of the page itself


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_to_complain_about(
    browser: Browser, tmp_path: Path, run: Log, scheme: Literal["light", "dark"]
) -> None:
    """Every rule of axe, with laws of every verdict opened; both schemes are checked for contrast."""
    verdicts = [verdict(f"BIN-00{number}", status, message="why") for number, status in enumerate(Status)]
    whole = section(header("t", planned=20), *verdicts, truncated=True)
    compared = msgspec.structs.replace(run.section.header, target="u", places={"packer": "new.place"})
    logs = [Log(whole), Log(section(compared, *run.section.verdicts), run.folder)]
    file = tmp_path / "index.html"
    html.write(logs, file)
    context = browser.new_context(color_scheme=scheme, bypass_csp=True)  # axe is injected, which the page forbids
    page = context.new_page()
    page.goto(file.as_uri())
    for button in page.locator("tr.law th button").all():
        button.click()
    for summary in page.locator("summary").all():
        summary.click()
    page.get_by_label("only what differs").uncheck()
    expect(page.locator("tbody.same").first).to_be_visible()
    page.get_by_role("button", name="failed as expected").click()
    page.get_by_role("button", name="failed as expected").hover()
    page.get_by_role("button", name="failed as expected").click()
    results = Axe().run(page)
    context.close()
    assert results.violations_count == 0, results.generate_report()


def test_axe_would_complain_about_text_that_is_hard_to_read(browser: Browser, tmp_path: Path) -> None:
    """The check above can fail."""
    html.write([release("0.5.1", RELEASES["0.5.1"])], tmp_path / "index.html")
    context = browser.new_context(bypass_csp=True)
    page = context.new_page()
    page.goto((tmp_path / "index.html").as_uri())
    page.add_style_tag(content="td { color: #ccc }")
    results = Axe().run(page)
    context.close()
    assert "color-contrast" in results.generate_snapshot()


def test_a_narrow_screen_needs_no_sideways_scrolling_but_in_the_table(open_page: Any, run: Log) -> None:
    page = open_page(run, run, run)
    page.set_viewport_size({"width": 400, "height": 800})
    page.get_by_role("button", name="CPX-001").click()
    overflowing = page.evaluate(
        "[...document.querySelectorAll('body *')]"
        ".filter(e => !e.closest('.scroll') && e.getBoundingClientRect().right > 400).map(e => e.outerHTML)"
    )
    assert overflowing == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 400

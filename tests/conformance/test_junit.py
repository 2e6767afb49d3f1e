"""JUnit reports, held against what the format's common schema allows, restated here."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from logs import HOSTILE, saying, section, verdict

from conformance.events import Status
from conformance.reports import junit

ATTRIBUTES = {
    "testsuites": {"name", "time", "tests", "failures", "errors"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time", "timestamp"},
    "properties": set[str](),
    "property": {"name", "value"},
    "testcase": {"name", "classname", "time"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
    "skipped": {"type", "message"},
}
"""Elements and the attributes that each may have."""
REQUIRED = {"testsuite": {"name", "tests", "failures", "errors"}, "testcase": {"name"}, "property": {"name", "value"}}


def written(tmp_path: Path) -> ElementTree.Element:
    """A report of every verdict, of hostile words and of a run that was cut short."""
    verdicts = [verdict(f"BIN-00{number}", status, message=HOSTILE) for number, status in enumerate(Status)]
    junit.write(
        [section(saying(HOSTILE), *verdicts), section(saying("t"), *verdicts, truncated=True)], tmp_path / "junit.xml"
    )
    return ElementTree.parse(tmp_path / "junit.xml").getroot()


def test_a_report_has_the_elements_and_attributes_of_the_format(tmp_path: Path) -> None:
    """And no others; readers such as Jenkins refuse what they do not know."""
    root = written(tmp_path)
    assert root.tag == "testsuites"
    for element in root.iter():
        assert set(element.keys()) <= ATTRIBUTES[element.tag], element.tag
        assert set(element.keys()) >= REQUIRED.get(element.tag, set()), element.tag


def test_the_counts_of_a_suite_are_those_of_its_tests(tmp_path: Path) -> None:
    """A truncated run has an error of its own."""
    counted = [
        {name: int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")}
        for suite in written(tmp_path)
    ]
    whole = {"tests": 7, "failures": 2, "errors": 2, "skipped": 2}
    assert counted == [whole, whole | {"tests": 8, "errors": 3}]


def test_what_a_target_says_is_text(tmp_path: Path) -> None:
    """But for control characters, which XML has no place for."""
    said = HOSTILE.replace("\x1b", "\ufffd")
    root = written(tmp_path)
    assert {failure.get("message") for failure in root.iter("failure")} == {said}
    assert [suite.get("name") for suite in root] == [f"{said}=={said}", "t==t"]

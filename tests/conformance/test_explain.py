"""`packproof explain` links laws, bugs and sources, and draws a case that it finds anew."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from conformance import explain as module
from conformance.catalogues import bugs
from conformance.cli import app
from conformance.explain import UnknownId, explain
from properties.law import catalogue
from properties.museum import museum


@pytest.fixture(autouse=True)
def few_laws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Laws on layouts are enough for what is shown of a bug in them."""
    few = {key: law for key, law in catalogue().items() if key.startswith(("LAY-00", "CFG-020"))}
    monkeypatch.setattr(module, "catalogue", lambda: few)


def test_a_law_is_shown_with_its_harm_a_picture_and_the_bugs_it_catches() -> None:
    text = explain("LAY-005")
    law = catalogue()["LAY-005"]
    assert text.startswith(f"LAY-005: {law.claim}\n")
    assert law.text in text
    assert law.harm in text
    assert "smallest case (LAY-005 on " in text
    assert "does not hold: " in text
    assert f"X-LAY-1  {museum()['X-LAY-1'].source}" in " ".join(text.split("\n")).replace("   ", "  ")


def test_a_bug_is_shown_with_what_was_suffered_and_the_laws_that_catch_it() -> None:
    text = explain("X-LAY-1")
    bug = museum()["X-LAY-1"]
    assert text.startswith(f"X-LAY-1: {bug.text}\n")
    assert bug.suffered in text
    assert "smallest case (LAY-00" in text
    assert catalogue()["LAY-005"].claim in text


def test_all_facets_of_a_law_are_shown() -> None:
    keys = [key for key, law in module.catalogue().items() if law.id == "CFG-020"]
    assert len(keys) > 1
    text = explain("CFG-020")
    assert all(f"{key}: " in text for key in keys)


def test_an_unknown_id_names_what_is_close() -> None:
    with pytest.raises(UnknownId, match=r"'lay-05': did you mean .*LAY-005"):
        explain("lay-05")


def test_an_entry_that_no_bug_can_show_says_why() -> None:
    with pytest.raises(UnknownId, match=r"TE-04 is in the bug corpus, but not in the museum: .* a cache of tensors"):
        explain("TE-04")


def test_an_unknown_id_is_a_usage_error() -> None:
    result = CliRunner().invoke(app, ["explain", "XX-999"])
    assert isinstance(result.exception, UnknownId)
    assert "packproof list bugs" in str(result.exception)


def test_bugs_are_listed_with_source_area_and_what_was_suffered() -> None:
    listed = CliRunner().invoke(app, ["list", "bugs", "--format", "json"])
    (bug,) = [row for row in json.loads(listed.output) if row["id"] == "MB-12"]
    assert {"source", "area", "suffered"} <= bug.keys()
    assert bug in bugs()
    text = CliRunner().invoke(app, ["list", "bugs"], env={"COLUMNS": "300"}).output
    assert all(bug[name] in text for name in ("area", "suffered", "source"))

"""No entry of the bug corpus is forgotten: a bug re-creates it, or a reason says why none can."""

from __future__ import annotations

from properties.museum import museum
from properties.museum.corpus import corpus

CORPUS = corpus()


def test_the_corpus_has_all_its_entries() -> None:
    assert len(CORPUS.ids) == len(set(CORPUS.ids)) == 115


def test_every_entry_is_re_created_or_says_why_not() -> None:
    assert CORPUS.missing(museum()) == ()


def test_an_entry_without_a_bug_and_without_a_reason_is_missing() -> None:
    assert CORPUS.missing(id for id in museum() if id != "MB-12") == ("MB-12",)


def test_a_bug_of_two_parts_stands_for_one_entry() -> None:
    assert CORPUS.entry_of("MB-21-labels") == "MB-21"
    assert CORPUS.entry_of("MB-1") is None


def test_what_is_outside_is_not_in_the_museum() -> None:
    held = {CORPUS.entry_of(bug) for bug in museum()}
    assert not held & (CORPUS.outside.keys() | CORPUS.same.keys())
    assert all(
        reason.startswith(("It is about", "As ")) and reason.endswith(".") for reason in CORPUS.outside.values()
    )


def test_the_same_defect_is_in_the_museum() -> None:
    assert set(CORPUS.same.values()) <= museum().keys()


def test_every_listed_entry_is_one_of_the_corpus() -> None:
    assert CORPUS.same.keys() | CORPUS.outside.keys() <= set(CORPUS.ids)

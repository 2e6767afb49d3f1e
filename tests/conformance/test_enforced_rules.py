"""Which config rules a target enforces is what the laws on them found."""

from __future__ import annotations

import logs
import pytest
from logs import verdict

from conformance.changes import Difference, between
from conformance.enforced_rules import enforced_rules
from conformance.events import Section, Status, Verdict
from properties.law import catalogue


def section(*verdicts: Verdict) -> Section:
    return logs.section(logs.header("megatron-bridge==0.6.2", "0.6.2"), *verdicts)


@pytest.mark.parametrize(
    ("offline", "training", "told"),
    [
        (Status.PASSED, Status.PASSED, "enforced"),
        (Status.PASSED, Status.STALE, "enforced"),
        (Status.PASSED, Status.FAILED_AS_EXPECTED, "enforced in part"),
        (Status.FAILED, Status.FAILED_AS_EXPECTED, "not enforced"),
        (Status.PASSED, Status.NOT_SUPPORTED, "enforced"),
        (Status.NOT_SUPPORTED, Status.NOT_SUPPORTED, None),
    ],
)
def test_a_rule_is_enforced_where_its_laws_hold(offline: Status, training: Status, told: str | None) -> None:
    first, second, *_ = (law for law in catalogue().values() if "rule lengths-agree" in law.sources)
    found = enforced_rules(section(verdict(first.key, offline), verdict(second.key, training)))
    assert found == ({"lengths-agree": told} if told else {})


def test_what_changed_names_new_rules() -> None:
    """Also those for settings that the release before did not have."""
    (law,) = (law for law in catalogue().values() if "rule graph-boundaries" in law.sources)
    lacking, failing, holding = (
        section(verdict(law.key, status)) for status in (Status.NOT_SUPPORTED, Status.FAILED, Status.PASSED)
    )
    assert between(failing, holding).rules == (Difference("graph-boundaries", "not enforced", "enforced"),)
    assert between(lacking, holding).rules == (Difference("graph-boundaries", None, "enforced"),)
    assert between(holding, holding).rules == ()

"""Which config rules a target enforces, as the laws on them found it."""

from __future__ import annotations

from functools import cache

from conformance.events import Section
from conformance.law_changes import Behaviour, behaviours
from properties.law import catalogue
from reference_impl.rules import RULES

ENFORCED, IN_PART, NOT_ENFORCED = "enforced", "enforced in part", "not enforced"


def enforced_rules(section: Section) -> dict[str, str]:
    """What became of configurations that break a rule, by id of the rule.

    Rules that the target could not be asked about, because it has no such setting, are left out. One with several
    laws, such as one for each mode of packing, may be enforced in part.
    """
    found = behaviours(section)
    told: dict[str, str] = {}
    for rule, keys in _laws_of_rules().items():
        decided = {found[key] for key in keys if key in found} & {Behaviour.HOLDS, Behaviour.FAILS}
        if len(decided) > 1:
            told[rule] = IN_PART
        elif decided:
            told[rule] = ENFORCED if Behaviour.HOLDS in decided else NOT_ENFORCED
    return told


@cache
def _laws_of_rules() -> dict[str, list[str]]:
    return {rule: [key for key, law in catalogue().items() if f"rule {rule}" in law.sources] for rule in RULES}

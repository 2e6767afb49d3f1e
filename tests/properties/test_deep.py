"""The reference obeys every law at thousands of examples, and every law stays active."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings
from museum_runs import reference_for
from shards import SHARD, shard_of
from unmutated import BACKEND

from properties.law import Verdict, catalogue
from properties.profiles import profile

pytestmark = [pytest.mark.deep, pytest.mark.timeout(7200)]


def drawn_alike() -> list[list[str]]:
    """Laws with the same strategies: drawing takes longer than checking, and is done once for all of them."""
    groups: dict[object, list[str]] = {}
    for key, law in sorted(catalogue().items()):
        groups.setdefault(frozenset(law.strategies.items()), []).append(key)
    return list(groups.values())


@pytest.mark.parametrize("keys", shard_of(drawn_alike(), os.environ.get(SHARD, "1/1")), ids=" ".join)
def test_laws_hold_for_the_reference(keys: list[str]) -> None:
    deep = settings(profile("deep"), backend=BACKEND)
    inputs = catalogue()[keys[0]].draw(deep.max_examples, profile=deep)
    for law in map(catalogue().__getitem__, keys):
        outcome = law.run(reference_for(law), profile=deep, inputs=inputs)
        assert outcome.verdict is Verdict.PASSED, f"{law.key}: {outcome.message}"

"""The reference obeys every law at thousands of examples, and every law stays active."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings
from museum_runs import reference_for
from shards import SHARD, shard_of
from unmutated import BACKEND

from properties.law import Inputs, Law, Verdict, catalogue
from properties.profiles import profile

pytestmark = [pytest.mark.deep, pytest.mark.timeout(7200)]

FEW = 200
"""Strategies that give fewer inputs than these have no more."""


def drawn_alike() -> list[list[str]]:
    """Laws with the same strategies: drawing takes longer than checking, and is done once for all of them."""
    groups: dict[object, list[str]] = {}
    for key, law in sorted(catalogue().items()):
        groups.setdefault(frozenset(law.strategies.items()), []).append(key)
    return list(groups.values())


def inputs_of(law: Law) -> list[Inputs]:
    """As many inputs as the profile asks for; all that there are where the strategies have few.

    Hypothesis knows that it has drawn all of them under its own provider only.
    """
    deep = profile("deep")
    first = law.draw(FEW, profile=deep)
    return first if len(first) < FEW else law.draw(deep.max_examples, profile=settings(deep, backend=BACKEND))


@pytest.mark.parametrize("keys", shard_of(drawn_alike(), os.environ.get(SHARD, "1/1")), ids=" ".join)
def test_laws_hold_for_the_reference(keys: list[str]) -> None:
    deep = profile("deep")
    inputs = inputs_of(catalogue()[keys[0]])
    for law in map(catalogue().__getitem__, keys):
        outcome = law.run(reference_for(law), profile=deep, inputs=inputs)
        assert outcome.verdict is Verdict.PASSED, f"{law.key}: {outcome.message}"

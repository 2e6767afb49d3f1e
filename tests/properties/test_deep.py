"""The reference obeys every law at thousands of examples, and every law stays active."""

from __future__ import annotations

import os

import pytest
from museum_runs import reference_for
from shards import SHARD, shard_of

from properties.law import Verdict, catalogue
from properties.profiles import profile

pytestmark = [pytest.mark.deep, pytest.mark.timeout(3600)]


@pytest.mark.parametrize("key", shard_of(sorted(catalogue()), os.environ.get(SHARD, "1/1")))
def test_law_holds_for_the_reference(key: str) -> None:
    law = catalogue()[key]
    outcome = law.run(reference_for(law), profile=profile("deep"))
    assert outcome.verdict is Verdict.PASSED, outcome.message

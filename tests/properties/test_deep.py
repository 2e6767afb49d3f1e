"""The reference obeys every law at thousands of examples, and every law stays active."""

from __future__ import annotations

import os

import pytest
from shards import SHARD, shard_of

from properties.law import Verdict, catalogue
from properties.profiles import profile
from reference_impl.reference import ReferenceImplementation

pytestmark = [pytest.mark.deep, pytest.mark.timeout(3600)]


@pytest.mark.parametrize("key", shard_of(sorted(catalogue()), os.environ.get(SHARD, "1/1")))
def test_law_holds_for_the_reference(key: str) -> None:
    law, reference = catalogue()[key], ReferenceImplementation()
    reference.policies = reference.policies.declaring(law.policy)
    outcome = law.run(reference, profile=profile("deep"))
    assert outcome.verdict is Verdict.PASSED, outcome.message

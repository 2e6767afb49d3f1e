"""The laws of one area at a glance, one test an area: what a mutation run repeats for every mutant.

The tests of ``test_museum`` make the same claim law by law, with more examples. This file is named to pytest by
``[tool.mutmut]`` only: hundreds of tests would take longer to collect than to run, once per mutant. Inputs are drawn
before the first mutant, and every process that is forked for one has them.
"""

from __future__ import annotations

import pytest
from museum_runs import GLANCE, LAWS, reference_for

from properties.law import Verdict
from properties.tracing import drawn

AREAS = sorted({law.area for law in LAWS.values()} - {"TXT"})
"""Laws on real text take seconds for a preparation each."""


@pytest.mark.timeout(120)  # the first time, when the inputs are drawn
@pytest.mark.parametrize("area", AREAS)
def test_the_laws_of_an_area_hold_for_the_reference(area: str) -> None:
    """A quick look, with the same inputs every time."""
    for key, law in LAWS.items():
        if law.area == area:
            reference = reference_for(law)
            for inputs in drawn(key, GLANCE):
                outcome = law.replay(reference, inputs)
                assert outcome.verdict is Verdict.PASSED, outcome.message

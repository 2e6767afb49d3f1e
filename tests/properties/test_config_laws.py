"""The configuration laws: true of the reference, and each of them needed."""

from functools import cache

import pytest
from hypothesis import Phase, settings

from properties.law import Law, Outcome, Verdict
from properties.laws import test_config, test_config_accepted
from properties.museum import museum
from reference_impl.config import TrainingConfig, Validation
from reference_impl.interface import Implementation, Op
from reference_impl.reference import ReferenceImplementation
from reference_impl.rules import RULES, Severity

EXAMPLES = settings(max_examples=300, database=None)
WITHOUT_SHRINKING = settings(EXAMPLES, phases=(Phase.generate,))
MODULES = (test_config, test_config_accepted)
LAWS: dict[str, Law] = {
    test.law.key: test.law for module in MODULES for test in vars(module).values() if hasattr(test, "law")
}
BUGS = {id: bug for id, bug in museum().items() if bug.overrides == {Op.VALIDATE}}


class Recorder(ReferenceImplementation):
    """Remembers what is validated."""

    def __init__(self) -> None:
        self.seen: list[TrainingConfig] = []

    def validate(self, config: TrainingConfig) -> Validation:
        self.seen.append(config)
        return super().validate(config)


@cache
def on_the_reference(key: str) -> tuple[Outcome, tuple[TrainingConfig, ...]]:
    """Outcome of a law on the reference, and the configurations that it drew, none twice."""
    recorder = Recorder()
    outcome = LAWS[key].run(recorder, profile=EXAMPLES)
    return outcome, tuple(dict.fromkeys(recorder.seen))


def kills(law: Law, implementation: Implementation) -> bool:
    """Whether an input that the law draws for the reference tells the implementation from it."""
    for config in on_the_reference(law.key)[1]:
        try:
            law.check(implementation, config=config)
        except Exception:
            return True
    return False


def killers(id: str) -> list[str]:
    return [key for key, law in LAWS.items() if kills(law, BUGS[id].implementation())]


@pytest.mark.parametrize("key", LAWS)
def test_law_holds_for_the_reference(key: str) -> None:
    outcome, _ = on_the_reference(key)
    assert outcome.verdict is Verdict.PASSED, outcome.message


@pytest.mark.parametrize("key", LAWS)
def test_law_kills_a_bug(key: str) -> None:
    candidates = (bug.implementation() for id, bug in BUGS.items() if id != "V-bare-assert")
    killed = next((broken for broken in candidates if kills(LAWS[key], broken)), None)
    assert killed, f"no bug of the museum breaks {key}"
    assert LAWS[key].run(killed, profile=WITHOUT_SHRINKING).verdict is Verdict.FAILED


@pytest.mark.parametrize("id", BUGS)
def test_bug_is_killed_by_some_law(id: str) -> None:
    broken = BUGS[id].implementation()
    assert any(kills(law, broken) for law in LAWS.values())


def test_bug_without_a_message_is_killed_by_every_refusal() -> None:
    refusals = {key for key in LAWS if key >= "CFG-010"}
    assert set(killers("V-bare-assert")) == refusals


def test_bug_of_one_mode_leaves_laws_of_other_modes_alone() -> None:
    assert killers("S31-providers") == ["CFG-020[in-batch]", "CFG-040[in-batch]", "CFG-041[in-batch]"]


def test_every_standing_error_has_a_law() -> None:
    errors = {id for id, rule in RULES.items() if rule.severity is Severity.ERROR and rule.until is None}
    named = {source.removeprefix("rule ") for law in LAWS.values() for source in law.sources}
    assert errors <= named

"""From a law and a target to a verdict, the baseline taken into account."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec
from hypothesis import settings

from conformance import cases
from conformance.baseline import Baseline, Deviation
from conformance.events import BLAME, Blame, Status, Verdict
from conformance.targets.recording import Recording
from properties import law as laws
from properties.law import Law, Outcome
from reference_impl.interface import Implementation


@dataclass(frozen=True)
class Context:
    """What a verdict depends on beside the law.

    Attributes:
        target: target specification as the user wrote it.
        version: release of the target, "" when it has none.
        versions: releases of its packages.
        baseline: known deviations.
        cases: folder for counterexamples, None to write none.
        profile: Hypothesis settings.
        seed: shifts all draws.
        case_prefix: begins the file names of cases.
    """

    target: str
    version: str
    versions: dict[str, str]
    baseline: Baseline
    cases: Path | None
    profile: settings
    seed: int
    case_prefix: str = ""


_STATUS = {
    laws.Verdict.PASSED: Status.PASSED,
    laws.Verdict.FAILED: Status.FAILED,
    laws.Verdict.NOT_SUPPORTED: Status.NOT_SUPPORTED,
    laws.Verdict.HUNG: Status.ENVIRONMENT_ERROR,
    laws.Verdict.HARNESS_ERROR: Status.HARNESS_ERROR,
}


def decide(law: Law, implementation: Implementation, context: Context) -> Verdict:
    """Run one law, or replay its cases when the baseline lists it."""
    entries = context.baseline.of(law.key)
    if not entries:
        outcome = _search(law, implementation, context)
        return _verdict(law, context, outcome, _STATUS[outcome.verdict], outcome.message)
    decided = [
        msgspec.structs.replace(
            _decide_entry(law, implementation, context, entry), upstream=entry.upstream, known_as=entry.known_as
        )
        for entry in entries
    ]
    worst = (
        Status.ENVIRONMENT_ERROR,
        Status.HARNESS_ERROR,
        Status.STALE,
        Status.FAILED_AS_EXPECTED,
        Status.NOT_SUPPORTED,
    )
    return min(decided, key=lambda verdict: worst.index(verdict.verdict))


def _search(law: Law, implementation: Implementation, context: Context) -> Outcome:
    """Draw inputs; a recording has its own."""
    if isinstance(implementation, Recording):
        return implementation.run(law)
    return law.run(implementation, profile=context.profile, run_seed=context.seed)


def _decide_entry(law: Law, implementation: Implementation, context: Context, entry: Deviation) -> Verdict:
    path = context.baseline.case_path(entry)
    if path is None:
        outcome = _search(law, implementation, context)
    else:
        try:
            inputs = cases.inputs_of(cases.read(path), law)
        except cases.CaseError as error:
            outcome = Outcome(laws.Verdict.HARNESS_ERROR, str(error))
        else:
            outcome = law.replay(implementation, inputs)
    if outcome.verdict is laws.Verdict.FAILED:
        return _verdict(law, context, outcome, Status.FAILED_AS_EXPECTED, f"{entry.harm}\n{outcome.message}")
    if outcome.verdict is laws.Verdict.PASSED:
        what = f"the case {path.name} passes" if path else "the law passes"
        message = f"the baseline lists it ({entry.harm}), but {what}: remove the entry"
        return _verdict(law, context, outcome, Status.STALE, message)
    return _verdict(law, context, outcome, _STATUS[outcome.verdict], outcome.message)


def _verdict(law: Law, context: Context, outcome: Outcome, status: Status, message: str) -> Verdict:
    case = None
    if outcome.failure and status is not Status.HARNESS_ERROR and context.cases:
        recorded = cases.record(law, outcome.failure, outcome.message, context.target, context.versions)
        name = f"{context.case_prefix}{recorded.file_name}"
        cases.write(recorded, context.cases / name)
        case = f"cases/{name}"
    return Verdict(
        law=law.id,
        facet=law.facet,
        claim=law.claim,
        target=context.target,
        target_version=context.version,
        verdict=status,
        blame=Blame.TARGET if outcome.verdict is laws.Verdict.HUNG else BLAME[status],
        seconds=round(outcome.seconds, 4),
        examples=outcome.examples,
        case=case,
        message=message,
        harm=law.harm,
    )

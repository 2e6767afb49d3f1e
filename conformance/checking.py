"""`check(MyPacker())`: the laws, inside anybody's own test suite."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

from conformance import cases
from conformance.draw import draw_inputs
from conformance.snippet import snippet
from conformance.targets.loading import adapt
from properties.law import Law, Outcome, Verdict, catalogue
from properties.profiles import DEFAULT, profile


class Deviations(AssertionError):
    """The implementation breaks laws; the message shows each with its smallest case."""


def check(
    implementation: object, *, laws: str = "*", folder: Path = Path(".packproof/cases"), profile_name: str = DEFAULT
) -> None:
    """Hold an implementation against every law whose operations it has.

    Args:
        implementation: an ``Implementation``, or any object with methods named after operations.
        laws: glob over law ids.
        folder: where counterexamples are written.
        profile_name: ``pr``, ``nightly`` or ``deep``.

    Raises:
        Deviations: laws are broken, or none could be run.
    """
    adapted = adapt(implementation)
    kind = type(implementation)
    target = f"module:{kind.__module__}:{kind.__qualname__}"
    settings = profile(profile_name)
    reports: list[str] = []
    ran = 0
    for law in catalogue().values():
        if not fnmatchcase(law.id, laws):
            continue
        outcome = law.run(adapted, profile=settings)
        ran += outcome.verdict is not Verdict.NOT_SUPPORTED
        if outcome.verdict in {Verdict.FAILED, Verdict.HARNESS_ERROR}:
            reports.append(explain(law, outcome, target, folder))
    if not ran:
        operations = ", ".join(sorted(adapted.operations())) or "no operation of packproof"
        raise Deviations(f"no law could be run: {kind.__name__} has {operations}")
    if reports:
        raise Deviations("\n\n".join([f"{kind.__name__} breaks {len(reports)} of {ran} laws", *reports]))


def explain(law: Law, outcome: Outcome, target: str, folder: Path) -> str:
    """One broken law for a person: claim, harm, picture, replay command and snippet."""
    parts = [f"{law.key}: {law.claim}", f"harm: {law.harm}", outcome.message]
    if outcome.failure is None:
        return "\n".join(parts)
    picture = draw_inputs(outcome.failure.inputs)
    if picture:
        parts.append(picture)
    case = cases.record(law, outcome.failure, outcome.message, target, {})
    path = folder / case.file_name
    try:
        cases.write(case, path)
    except OSError as error:
        parts.append(f"(the case could not be written to {path}: {error.strerror})")
    else:
        parts.append(f"replay: packproof replay {path} --target {target}")
    parts.append("reproduce:\n" + "\n".join(f"    {line}" for line in snippet(outcome.failure, target).splitlines()))
    return "\n".join(parts)

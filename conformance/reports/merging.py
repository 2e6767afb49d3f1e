"""One column from the logs of several runs of a target, such as a nightly on a GPU and a run on CPUs.

Verdicts are put together law by law. Machines, the way of importing, profiles and seeds may differ: each run is shown
with its own. Runs that did not measure the same software by the same laws are refused: a mixture of them would claim
what nobody has measured.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from conformance.events import Footer, Header, LogError, PassTarget, Section, Status, Verdict
from conformance.reports.columns import Log, release
from conformance.results import exit_code
from conformance.targets.loading import PACKAGES

SAME = {"packproof": "packproof", "target_version": "release", "baseline": "baseline"}
"""Fields of the header that runs of one target must share, and what to call them."""

ORDER = (
    *(Status.FAILED, Status.STALE, Status.HARNESS_ERROR, Status.ENVIRONMENT_ERROR),
    *(Status.FAILED_AS_EXPECTED, Status.PASSED, Status.NOT_SUPPORTED),
)
"""The verdict that says more comes first: trouble before success, success before *not supported*."""


def merge(logs: Sequence[Log]) -> list[Log]:
    """Logs with those of one release of a target as one, in the order of the first of each.

    An installed release and the same one from a cache are the same software, whatever the user called them.

    Args:
        logs: of whole runs, as ``reading.logs_of`` gives them.

    Raises:
        LogError: a run is named twice, or does not fit another run of its target.
    """
    runs: dict[str, list[Log]] = {}
    for number, log in enumerate(logs):
        for earlier in logs[:number]:
            if _names(earlier) & _names(log):
                _check_fits(earlier, log)
        runs.setdefault(release(log.section.header), []).append(log)
    return [found[0] if len(found) == 1 else _merged(found) for found in runs.values()]


def _merged(logs: Sequence[Log]) -> Log:
    verdicts: dict[str, Verdict] = {}
    tests: dict[tuple[str, str], PassTarget] = {}
    origins: dict[str, int] = {}
    for number, log in enumerate(logs):
        for verdict in log.section.verdicts:
            if _says_more(verdict, verdicts.get(verdict.key)):
                verdicts[verdict.key] = verdict
                origins[verdict.key] = number
        for test in log.section.pass_targets:
            if _says_more(test, tests.get((test.suite, test.test))):
                tests[test.suite, test.test] = test
    section = Section(_header(logs, len(verdicts) + len(tests)), list(verdicts.values()), list(tests.values()))
    section.footer = _footer(section, [log.section.footer for log in logs if log.section.footer])
    return Log(section, merged=tuple(logs), origins=origins)


def _names(log: Log) -> set[str]:
    """What runs that belong together have in common: the target as the user wrote it, or with its release."""
    return {log.section.header.target, release(log.section.header)}


def _says_more[T: (Verdict, PassTarget)](found: T, known: T | None) -> bool:
    return known is None or ORDER.index(found.verdict) < ORDER.index(known.verdict)


def _check_fits(earlier: Log, log: Log) -> None:
    target = log.section.header.target
    if earlier.folder and log.folder and earlier.folder.resolve() == log.folder.resolve():
        raise LogError(f"the run of {target} in {log.name} is named twice; name each run once")
    for what, there, here in _compared(earlier.section.header, log.section.header):
        if there != here:
            raise LogError(
                f"the runs of {target} in {earlier.name} and {log.name} cannot be merged: the {what} is"
                f" {there or 'none'} in one and {here or 'none'} in the other; `--diff` sets two runs side by side"
            )


def _compared(there: Header, here: Header) -> list[tuple[str, str, str]]:
    """What runs of one target must share: its name, and its value in both."""
    pairs = [(what, _plain(there, field), _plain(here, field)) for field, what in SAME.items()]
    pairs += [
        (f"release of {name}", there.versions[name], here.versions[name])
        for name in PACKAGES
        if name in there.versions and name in here.versions
    ]
    pairs += [
        (f"declared policy {name}", policy, here.policies[name])
        for name, policy in there.policies.items()
        if name in here.policies
    ]
    return pairs


def _plain(header: Header, field: str) -> str:
    """Baselines are compared by name: each machine has its own path, and perhaps its own separator."""
    value = str(getattr(header, field) or "")
    return value.replace("\\", "/").rpartition("/")[2] if field == "baseline" else value


def _header(logs: Sequence[Log], planned: int) -> Header:
    """What was measured, of all runs together; how (machine, profile, seed, ...) is that of the first."""
    headers = [log.section.header for log in logs]
    return msgspec.structs.replace(
        headers[0],
        planned=planned,
        stand_ins=tuple(dict.fromkeys(name for header in headers for name in header.stand_ins)),
        operations=tuple(sorted({name for header in headers for name in header.operations})),
        versions=_together([header.versions for header in headers]),
        places=_together([header.places for header in headers]),
        defaults=_together([header.defaults for header in headers]),
        policies=_together([header.policies for header in headers]),
    )


def _together(values: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Values by name; those that differ between runs, such as releases of torch, beside one another."""
    names = dict.fromkeys(name for value in values for name in value)
    return {name: " + ".join(dict.fromkeys(value[name] for value in values if name in value)) for name in names}


def _footer(section: Section, footers: Sequence[Footer]) -> Footer:
    problems = tuple(dict.fromkeys(problem for footer in footers for problem in footer.problems))
    return Footer(
        finished=max(footer.finished for footer in footers),
        seconds=round(sum(footer.seconds for footer in footers), 2),
        counts=dict(Counter(str(verdict.verdict) for verdict in section.verdicts)),
        exit_code=exit_code(section, unknown_entries=len(problems)),
        problems=problems,
    )

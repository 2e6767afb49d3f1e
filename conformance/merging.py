"""One log from the logs of several runs, such as a nightly on a GPU and a run on CPUs.

Runs of one target are put together law by law. A log that is truncated, or runs that did not measure the same thing,
are refused: a mixture would claim what nobody has measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from conformance import events
from conformance.events import Footer, Header, PassTarget, Section, Status, Verdict
from conformance.results import exit_code

SAME = ("packproof", "target_version", "profile", "seed", "baseline")
"""Fields of the header that runs of one target must share; machine, stand-ins and operations may differ."""


class MergeError(ValueError):
    """Runs that cannot be merged; one sentence with the way out."""


class _Runs:
    """Sections of one target, each with its folder."""

    def __init__(self) -> None:
        self.sections: list[Section] = []
        self.folders: list[Path] = []


def merge(folders: Sequence[Path]) -> list[Section]:
    """Sections of all runs, those of one target as one; paths of cases are absolute.

    Args:
        folders: report folders, each with an ``events.jsonl``.

    Raises:
        LogError: a folder holds no event log.
        MergeError: a run is truncated, is named twice, or does not fit another run of its target.
    """
    twice = sorted({str(folder) for folder in folders if folders.count(folder) > 1})
    if twice:
        raise MergeError(f"{twice[0]} is named twice; name each run once")
    runs: dict[str, _Runs] = {}
    for folder in folders:
        for section in events.read(folder / "events.jsonl"):
            _check_whole(section, folder)
            found = runs.setdefault(section.header.target, _Runs())
            found.sections.append(section)
            found.folders.append(folder)
    return [_merged(target, found) for target, found in runs.items()]


def write(sections: Sequence[Section], path: Path) -> None:
    """Write sections as one event log."""
    lines = [msgspec.json.encode(event) + b"\n" for section in sections for event in _events(section)]
    path.write_bytes(b"".join(lines))


def _events(section: Section) -> Iterator[events.Event]:
    yield section.header
    yield from section.verdicts
    yield from section.pass_targets
    if section.footer:
        yield section.footer


def _check_whole(section: Section, folder: Path) -> None:
    if section.truncated:
        raise MergeError(
            f"the run of {section.header.target} in {folder} is truncated: it has no footer; run it again, or leave"
            " it out"
        )
    counted = sum(section.footer.counts.values()) if section.footer else 0
    if counted != len(section.verdicts):
        raise MergeError(
            f"the log of {section.header.target} in {folder} was changed: its footer counts {counted} verdicts, and it"
            f" holds {len(section.verdicts)}"
        )


def _merged(target: str, runs: _Runs) -> Section:
    first = runs.sections[0].header
    for section, folder in zip(runs.sections[1:], runs.folders[1:], strict=True):
        for name in SAME:
            here, there = getattr(section.header, name), getattr(first, name)
            if _comparable(name, here) != _comparable(name, there):
                raise MergeError(
                    f"the runs of {target} in {runs.folders[0]} and {folder} do not fit: {name} is {there!r} and"
                    f" {here!r}; merge runs of the same release, profile, seed and baseline"
                )
    verdicts: dict[str, Verdict] = {}
    tests: dict[str, PassTarget] = {}
    for section, folder in zip(runs.sections, runs.folders, strict=True):
        for verdict in section.verdicts:
            verdicts[verdict.key] = _stronger(verdicts.get(verdict.key), _with_case(verdict, folder))
        for test in section.pass_targets:
            tests[f"{test.suite}::{test.test}"] = _stronger(tests.get(f"{test.suite}::{test.test}"), test)
    merged = Section(_header(runs), list(verdicts.values()), list(tests.values()))
    merged.footer = _footer(merged, [section.footer for section in runs.sections if section.footer])
    return merged


def _comparable(name: str, value: Any) -> Any:
    """Baselines are compared by name: each machine has its own path."""
    return Path(value).name if name == "baseline" and value else value


def _stronger[T: (Verdict, PassTarget)](known: T | None, found: T) -> T:
    """The verdict that says more: trouble before success, success before *not supported*."""
    order = (
        *(Status.FAILED, Status.STALE, Status.HARNESS_ERROR, Status.ENVIRONMENT_ERROR),
        *(Status.FAILED_AS_EXPECTED, Status.PASSED, Status.NOT_SUPPORTED),
    )
    return found if known is None else min(known, found, key=lambda event: order.index(event.verdict))


def _with_case(verdict: Verdict, folder: Path) -> Verdict:
    if verdict.case is None:
        return verdict
    return msgspec.structs.replace(verdict, case=str((folder / verdict.case).resolve()))


def _header(runs: _Runs) -> Header:
    headers = [section.header for section in runs.sections]
    first = headers[0]

    def together(name: str) -> str:
        return " + ".join(dict.fromkeys(str(getattr(header, name)) for header in headers))

    return msgspec.structs.replace(
        first,
        imported=together("imported"),
        python=together("python"),
        platform=together("platform"),
        stand_ins=tuple(dict.fromkeys(name for header in headers for name in header.stand_ins)),
        operations=tuple(sorted({name for header in headers for name in header.operations})),
        started=min(header.started for header in headers),
    )


def _footer(section: Section, footers: Sequence[Footer]) -> Footer:
    found = [str(verdict.verdict) for verdict in section.verdicts]
    problems = tuple(dict.fromkeys(problem for footer in footers for problem in footer.problems))
    return Footer(
        finished=max(footer.finished for footer in footers),
        seconds=round(sum(footer.seconds for footer in footers), 2),
        counts={status: found.count(status) for status in dict.fromkeys(found)},
        exit_code=exit_code(section, unknown_entries=len(problems)),
        problems=problems,
    )

"""Logs of earlier runs, for reports that join or compare them; a log that is not whole is refused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from conformance import events
from conformance.events import LogError, Section
from conformance.reports.columns import Log

NAME = "events.jsonl"


def logs_of(folder: Path) -> list[Log]:
    """Every section of the event log in the folder of a run.

    Raises:
        LogError: there is no such folder or log, the run was truncated, or lines of it were lost since.
    """
    if not folder.is_dir():
        raise LogError(f"there is no folder {folder}: name one that `packproof run --report DIR` wrote")
    if not (folder / NAME).is_file():
        raise LogError(f"{folder} holds no {NAME}: name a folder that `packproof run --report DIR` wrote")
    logs = [Log(section, folder, str(folder)) for section in events.read(folder / NAME)]
    for log in logs:
        _check_whole(log.section, folder)
    return logs


def _check_whole(section: Section, folder: Path) -> None:
    target = section.header.target
    if section.footer is None:
        raise LogError(
            f"the run of {target} in {folder} is truncated: it has no footer; run it again, or leave it out"
        )
    strange = {verdict.target for verdict in [*section.verdicts, *section.pass_targets]} - {target}
    if strange:
        raise LogError(
            f"the log of {target} in {folder} is mixed: it holds verdicts on {min(strange)}; keep the log of each run"
            " as it was written"
        )
    counted = sum(section.footer.counts.values())
    if section.footer.counts != Counter(str(verdict.verdict) for verdict in section.verdicts):
        raise LogError(
            f"the log of {target} in {folder} was changed after the run: its footer counts {counted} verdicts, and the"
            f" {len(section.verdicts)} that it holds are not those; run it again, or leave it out"
        )


def paired(before: list[Log], after: list[Log]) -> tuple[list[Log], list[str]]:
    """Logs of two runs side by side: each target of the one beside the same target of the other.

    Runs of one target each are compared whatever the targets are.

    Returns:
        The pairs in one list, and the targets that only one of the runs has.

    Raises:
        LogError: the runs have no target in common.
    """
    if len(before) == len(after) == 1:
        return [*before, *after], []
    later = {log.section.header.target: log for log in after}
    pairs = [(log, later[log.section.header.target]) for log in before if log.section.header.target in later]
    if not pairs:
        names = [", ".join(log.section.header.target for log in logs) for logs in (before, after)]
        raise LogError(f"nothing to compare: one run measured {names[0]}, the other {names[1]}")
    alone = {log.section.header.target for log in before} ^ later.keys()
    return [log for pair in pairs for log in pair], sorted(alone)

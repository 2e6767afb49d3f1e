"""Event logs made up for tests of reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import msgspec

from conformance import cases, events
from conformance.cases import Case
from conformance.events import BLAME, Footer, Header, Section, Status, Verdict
from conformance.reports.columns import Log
from conformance.results import exit_code

HOSTILE = (
    "</script x></script><script>alert(1)</script><img src=x onerror=alert(2)> \"'&<!-- \x1b[31m {{ 7*7 }} \u2028"
)
"""What a target might be called, or say."""
LAYOUT = {
    "valid": {"dtype": "int64", "data": [0, 3, 5]},
    "padded": {"dtype": "int64", "data": [0, 4, 8]},
}
CUT_CASE = Case(
    law="CPX-001", claim="cp slices partition every document", inputs={"layout": LAYOUT, "world": 2},
    expected="[0, 1, 2]", got="[0, 1]", message="does not hold: all slots are owned",
)  # fmt: skip
"""A case with a picture, two documents and two CP ranks."""


def header(target: str = "megatron-bridge", version: str = "0.5.1", *, planned: int = 0) -> Header:
    return Header(
        packproof="0.1.0", target=target, target_version=version, versions={target: version}, imported="isolated",
        stand_ins=("modelopt",), operations=("partition",), python="3.12", platform="p", profile="pr", seed=7,
        started="2026-01-01T00:00:00+00:00", baseline=None, planned=planned,
    )  # fmt: skip


def saying(word: str) -> Header:
    """A header that says one word wherever it can."""
    return msgspec.structs.replace(
        header(word, word), places={word: word}, defaults={word: word}, policies={word: word}, stand_ins=(word,),
        operations=(word,), versions={word: word}, python=word, platform=word, imported=word,
    )  # fmt: skip


def verdict(law: str, status: Status = Status.PASSED, **fields: object) -> Verdict:
    """A verdict on a law ``ID`` or ``ID[facet]``."""
    id, _, facet = law.removesuffix("]").partition("[")
    made = Verdict(
        law=id, facet=facet, claim=f"claim of {law}", target="megatron-bridge", target_version="0.5.1", verdict=status,
        blame=BLAME[status], seconds=0.1, examples=3, harm="tokens are lost",
    )  # fmt: skip
    return msgspec.structs.replace(made, **fields)


def section(head: Header, *verdicts: Verdict, truncated: bool = False) -> Section:
    own = [
        msgspec.structs.replace(verdict, target=head.target, target_version=head.target_version)
        for verdict in verdicts
    ]
    made = Section(head, own)
    if not truncated:
        made.footer = footer(made)
    return made


def footer(of: Section) -> Footer:
    """The footer of a run that came to its end."""
    counts = dict(Counter(str(found.verdict) for found in of.verdicts))
    return Footer(finished="2026-01-01T00:00:09+00:00", seconds=9.0, counts=counts, exit_code=exit_code(of))


def release(version: str, statuses: Mapping[str, Status]) -> Log:
    """A run of one Bridge release with a verdict per law."""
    verdicts = [verdict(law, status) for law, status in statuses.items()]
    return Log(section(header(f"megatron-bridge=={version}", version), *verdicts))


def write_run(folder: Path, *sections: Section, recorded: tuple[Case, ...] = ()) -> Path:
    """A folder as `packproof run --report` leaves it."""
    for case in recorded:
        cases.write(case, folder / "cases" / case.file_name)
    folder.mkdir(exist_ok=True)
    for one in sections:
        for event in (one.header, *one.verdicts, *one.pass_targets, *([one.footer] if one.footer else [])):
            events.append(folder / "events.jsonl", event)
    return folder

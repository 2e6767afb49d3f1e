"""Run the verification that a Megatron Bridge checkout describes for sequence packing, and judge it.

Each command runs as upstream runs it, in a pytest process of its own; `conformance.upstream_plugin` makes that work on
a machine without a GPU. The document's claims, what was selected and what passed are kept side by side.
"""

from __future__ import annotations

import ast
import importlib.metadata
import tomllib
from dataclasses import dataclass
from pathlib import Path

from conformance import overlays, skill_document, upstream_child, upstream_report
from conformance.skill_document import Refusal, SkillDocument
from conformance.upstream_plugin import Environment
from conformance.upstream_report import CommandResult, UpstreamReport, printable

TIME_LIMIT = 600.0
"""Seconds for one command; the real ones take 10 to 40 on two busy cores."""


class UpstreamError(Exception):
    """The command was called with something it cannot work on; one clear sentence."""


@dataclass(frozen=True)
class Expectation:
    """How many tests of each command must pass.

    Attributes:
        counts: one count per command; without them every selected test must pass, and at least one per command.
        origin: who expects it, in words.
        needs_gpu: how many of them each command may skip on a machine without a GPU.
    """

    counts: tuple[int, ...] | None
    origin: str
    needs_gpu: tuple[int, ...] = ()

    def __str__(self) -> str:
        counts = "every selected test" if self.counts is None else "/".join(map(str, self.counts))
        return f"{counts} ({self.origin})"

    @classmethod
    def parse(cls, text: str) -> Expectation:
        """Read ``auto`` or ``8,14,2``.

        Raises:
            UpstreamError: it is neither.
        """
        if text == "auto":
            return cls(None, "--expect auto")
        counts = [count.strip() for count in text.split(",")]
        if not all(count.isascii() and count.isdigit() for count in counts):
            raise UpstreamError(f"--expect {text!r} is neither `auto` nor counts such as 8,14,2")
        return cls(tuple(map(int, counts)), f"--expect {text}")

    @classmethod
    def recorded(cls, release: str, commands: int) -> Expectation:
        """The counts recorded for a release, or every selected test where none are."""
        table = tomllib.loads(Path(__file__).with_name("upstream_counts.toml").read_text(encoding="utf-8"))
        for entry in table["release"]:
            if release.startswith(f"{entry['series']}."):
                if len(entry["counts"]) == commands:
                    needs_gpu = tuple(entry.get("needs_gpu", ()))
                    return cls(tuple(entry["counts"]), f"recorded for Bridge {entry['series']}", needs_gpu)
                return cls(None, f"the counts recorded for Bridge {entry['series']} are for other commands")
        return cls(None, f"no counts are recorded for Bridge {release}")


def verify(checkout: Path, expect: Expectation | None = None, limit: float = TIME_LIMIT) -> UpstreamReport:
    """Run a checkout's own verification of sequence packing.

    Args:
        checkout: folder of a Megatron Bridge checkout.
        expect: what must pass; by default the counts recorded for its release.
        limit: seconds for each command.

    Raises:
        UpstreamError: this is no Megatron Bridge checkout, it has no tests, or `expect` does not fit its commands.
    """
    checkout = checkout.absolute()
    release = release_of(checkout)
    if not (checkout / "tests").is_dir():
        raise UpstreamError(f"{checkout} has no folder tests: name a checkout of the repository, not an installed one")
    document = skill_document.read(checkout)
    total = len(document.commands)
    expect = expect or Expectation.recorded(release, total)
    if expect.counts is not None and len(expect.counts) != total:
        found = f"{document.source} has {total} command(s)"
        raise UpstreamError(f"{expect.origin} names {len(expect.counts)} count(s), but {found}")
    core, notes = _core(release)
    results, environments = _run_all(checkout, document, expect, core, limit)
    environment = upstream_report.merged(environments)
    return UpstreamReport(
        checkout=printable(str(checkout)),
        release=printable(release),
        source=document.source,
        expectation=str(expect),
        environment=environment,
        commands=results,
        notes=notes + upstream_report.notes(environment),
        findings=tuple(upstream_report.findings(document.source, results)),
        verdict=upstream_report.verdict(results),
    )


def _run_all(
    checkout: Path, document: SkillDocument, expect: Expectation, core: Path | None, limit: float
) -> tuple[tuple[CommandResult, ...], tuple[Environment, ...]]:
    """Run each command that is not refused; set claim and expectation beside what came of it."""
    results: list[CommandResult] = []
    environments: list[Environment] = []
    for position, command in enumerate(document.commands, start=1):
        claimed = document.claimed(position)
        expected = expect.counts[position - 1] if expect.counts else None
        needs_gpu = expect.needs_gpu[position - 1] if expect.needs_gpu else 0
        if isinstance(command, Refusal):
            results.append(
                CommandResult(printable(str(command)), claimed, expected, refused=printable(command.reason))
            )
            continue
        run = upstream_child.run(checkout, command, core, limit)
        results.append(
            CommandResult(str(command), claimed, expected, run.tests, broken=run.broken, needs_gpu=needs_gpu)
        )
        environments += [run.environment] if run.environment else []
    return tuple(results), tuple(environments)


def release_of(checkout: Path) -> str:
    """Release that a checkout states; its source is read, not run.

    Raises:
        UpstreamError: it states none.
    """
    path = checkout / "src" / "megatron" / "bridge" / "package_info.py"
    if not path.is_file():
        raise UpstreamError(
            f"{checkout} is no Megatron Bridge checkout: it has no src/megatron/bridge/package_info.py"
        )
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError, RecursionError) as error:
        raise UpstreamError(f"{path} cannot be read: {error}") from error
    stated = {
        target.id: statement.value.value
        for statement in tree.body
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    try:
        return ".".join(str(stated[name]) for name in ("MAJOR", "MINOR", "PATCH")) + str(stated.get("PRE_RELEASE", ""))
    except KeyError as error:
        raise UpstreamError(f"{path} states no {error.args[0]}, so the release of the checkout is unknown") from error


def _core(release: str) -> tuple[Path | None, tuple[str, ...]]:
    """An overlay with the Megatron-Core that belongs to a release, where the installed one does not."""
    wanted = overlays.core_for(release)
    try:
        installed = importlib.metadata.version(overlays.CORE)
    except importlib.metadata.PackageNotFoundError:
        installed = None
    if wanted is None:
        return None, (f"No Megatron-Core is recorded for Bridge {printable(release)}; the installed one was used.",)
    if wanted == installed:
        return None, ()
    try:
        return overlays.overlay(overlays.CORE, wanted), ()
    except overlays.OverlayError as error:
        used = f"the installed {installed}" if installed else "none"
        return None, (f"Megatron-Core {wanted} belongs to Bridge {release}, but {error}; {used} was used.",)

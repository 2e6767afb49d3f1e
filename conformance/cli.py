"""`packproof`: the command line. What its commands do lives elsewhere; here are options, messages and exit codes."""

from __future__ import annotations

import datetime
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from conformance import baseline, baseline_writer, cases, events, explain, running
from conformance import matrix as several
from conformance.catalogues import Catalogue, print_catalogue
from conformance.cli_check_config import check_config
from conformance.cli_compare import compare_
from conformance.cli_doctor import doctor
from conformance.cli_init import init
from conformance.cli_lint_command import lint_command
from conformance.cli_matrix import matrix
from conformance.cli_museum import museum
from conformance.cli_report import report as report_command
from conformance.cli_shared import check_selection, known_profile, measured, passes_self_check, report_folder, say
from conformance.cli_show import show
from conformance.cli_upstream import upstream
from conformance.config_file import ConfigError
from conformance.events import Section
from conformance.exit_codes import ExitCode
from conformance.overlays import OverlayError
from conformance.reports import files, terminal
from conformance.results import counts, worst
from conformance.targets.command import CommandError
from conformance.targets.loading import TargetError, load
from properties.law import Verdict
from properties.profiles import EXAMPLES
from reference_impl.errors import PackingError

app = typer.Typer(
    help="Test and conformance harness for sequence packing.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("upstream")(upstream)
app.command("museum")(museum)
app.command("matrix")(matrix)
app.command("compare")(compare_)
app.command("lint-command")(lint_command)
app.command("check-config")(check_config)
app.command("report")(report_command)
app.command("show")(show)
app.command("init")(init)
app.command("doctor")(doctor)

DEFAULT_TARGET = "megatron-bridge"
USER_ERRORS: dict[type[Exception], ExitCode] = {
    TargetError: ExitCode.TARGET,
    OverlayError: ExitCode.TARGET,
    CommandError: ExitCode.TARGET,
    baseline.BaselineError: ExitCode.USAGE,
    cases.CaseError: ExitCode.USAGE,
    events.LogError: ExitCode.USAGE,
    ConfigError: ExitCode.USAGE,
    PackingError: ExitCode.USAGE,
    explain.UnknownId: ExitCode.USAGE,
}


def main() -> None:
    """Entry point of the script."""
    try:
        app()
    except tuple(USER_ERRORS) as error:
        Console(stderr=True).print(Text(f"packproof: {error}"), soft_wrap=True)
        sys.exit(next(code for kind, code in USER_ERRORS.items() if isinstance(error, kind)))


@app.command()
def run(
    target: Annotated[list[str] | None, typer.Option(help="What to measure; may be repeated.")] = None,
    law: Annotated[list[str] | None, typer.Option(metavar="GLOB", help="Only laws whose id matches.")] = None,
    profile_name: Annotated[str, typer.Option("--profile", help=f"One of {', '.join(EXAMPLES)}.")] = "pr",
    jobs: Annotated[int, typer.Option(min=1, help="Worker processes.")] = os.cpu_count() or 1,
    seed: Annotated[int, typer.Option(help="Shifts all draws.")] = 0,
    report: Annotated[Path | None, typer.Option(metavar="DIR", help="Write logs, reports and cases here.")] = None,
    baseline_choice: Annotated[
        str | None, typer.Option("--baseline", metavar="FILE|none", help="Known deviations.")
    ] = None,
    write_baseline: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the deviations found as a baseline.")
    ] = None,
    time_limit: Annotated[int, typer.Option(min=1, metavar="SECONDS", help="For one law, before it hangs.")] = 120,
) -> None:
    """Measure targets against the pass targets and every law."""
    console = Console()
    targets = target or [os.environ.get("PACKPROOF_TARGET", DEFAULT_TARGET)]
    plan = running.Plan(tuple(law or ()), known_profile(profile_name), jobs, seed, time_limit, baseline_choice)
    check_selection(plan)
    if write_baseline and len(targets) > 1:
        raise typer.Exit(say(ExitCode.USAGE, "--write-baseline is for one target; leave the others out"))
    with report_folder(report) as folder:
        code = _measure(console, targets, plan, folder, kept=report is not None)
        if write_baseline and code in {ExitCode.OK, ExitCode.DEVIATION, ExitCode.STALE}:
            section = events.read(folder / "events.jsonl")[-1]
            baseline_writer.write(section, folder, write_baseline, datetime.datetime.now(datetime.UTC).date())
    raise typer.Exit(code)


def _measure(console: Console, targets: list[str], plan: running.Plan, folder: Path, *, kept: bool) -> ExitCode:
    """Self-check, then every target in turn; reports are written after each, so that nothing gathered is lost."""
    prepared = several.prepare(targets)
    judged = [item.description for item in prepared if item.target != "reference"]
    if not passes_self_check(console, plan, judged):
        return ExitCode.HARNESS
    sections: list[Section] = []
    codes: list[ExitCode] = []
    for item in prepared:
        log = folder / "events.jsonl"
        apart = replace(plan, case_prefix=f"{cases.slug(item.target)}.") if len(targets) > 1 else plan
        section = measured(console, item.target, apart, log, item.target, item.description, item.environment)
        sections.append(section)
        terminal.print_section(console, section, folder if kept else None)
        codes.append(section.footer.exit_code if section.footer else ExitCode.TARGET)
        if kept:
            files.write(sections, folder)
    if kept:
        console.print(Text(f"report: {folder}"), soft_wrap=True)
    for line in counts(sections):
        console.print(Text(line))
    return worst(codes)


@app.command()
def replay(
    case: Annotated[Path, typer.Argument(help="A counterexample that packproof wrote.")],
    target: Annotated[str | None, typer.Option(help="By default the one that the case was found on.")] = None,
) -> None:
    """Run a law on one recorded counterexample: FIXED, STILL FAILS or ERROR."""
    recorded = cases.read(case)
    law = cases.law_of(recorded)
    inputs = cases.inputs_of(recorded, law)
    specification = target or recorded.target or DEFAULT_TARGET
    path = running.overlay_of(specification)
    if path:
        sys.path.insert(0, str(path))
    outcome = law.replay(load(specification), inputs)
    console = Console()
    words = {Verdict.PASSED: "FIXED", Verdict.FAILED: "STILL FAILS"}
    console.print(Text(f"{words.get(outcome.verdict, 'ERROR')}: {law.key} {law.claim} on {specification}"))
    if outcome.verdict is not Verdict.PASSED:
        picture = terminal.draw_inputs(inputs)
        console.print(Text("\n".join(filter(None, [outcome.message, picture]))), soft_wrap=True)
    codes = {
        Verdict.PASSED: ExitCode.OK,
        Verdict.FAILED: ExitCode.DEVIATION,
        Verdict.NOT_SUPPORTED: ExitCode.NOTHING_RAN,
        Verdict.HUNG: ExitCode.TARGET,
        Verdict.HARNESS_ERROR: ExitCode.HARNESS,
    }
    raise typer.Exit(codes[outcome.verdict])


@app.command("explain")
def explain_(id: Annotated[str, typer.Argument(help="A law, such as COL-003, or a bug, such as MB-12.")]) -> None:
    """Show a law or a bug: what it is about, the smallest case, and what it is linked with."""
    Console().print(Text(explain.explain(id)), soft_wrap=True)


@app.command("list")
def list_(
    what: Annotated[Catalogue, typer.Argument(help="laws, targets or bugs.")],
    output: Annotated[str, typer.Option("--format", help="text or json.")] = "text",
) -> None:
    """Print a catalogue."""
    if output not in {"text", "json"}:
        raise typer.Exit(say(ExitCode.USAGE, f"--format {output}: choose text or json"))
    print_catalogue(what, output)

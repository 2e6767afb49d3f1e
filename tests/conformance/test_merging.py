"""Merging runs: one column per target, and a clear refusal of what does not belong together."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from logs import footer, header, section, verdict, write_run

from conformance.events import Header, LogError, PassTarget, Section, Status
from conformance.exit_codes import ExitCode
from conformance.reports.columns import Log
from conformance.reports.merging import ORDER, merge
from conformance.reports.reading import logs_of

CPU = msgspec.structs.replace(
    header(), versions={"megatron-core": "0.18.2", "torch": "2.12.1"}, operations=("collate",),
    baseline="/a/megatron-bridge-0.5.1.toml", policies={"overlong": "dropped"}, places={"packing": "a.b"},
)  # fmt: skip
GPU = msgspec.structs.replace(
    CPU, imported="plain", stand_ins=(), operations=("partition",), platform="gpu", profile="nightly", seed=20261130,
    versions={"megatron-core": "0.18.2", "torch": "2.13.0", "transformer-engine": "2.17.1"},
    baseline="C:\\b\\megatron-bridge-0.5.1.toml", policies={"empty": "left out"}, python="3.12.9",
)  # fmt: skip
PASSED, FAILED, LACKS = Status.PASSED, Status.FAILED, Status.NOT_SUPPORTED


def run(folder: Path, head: Header, *tests: PassTarget, **laws: Status) -> list[Log]:
    """Logs of a report folder with one section."""
    made = section(head, *(verdict(law, status) for law, status in laws.items()))
    made.pass_targets += tests
    return logs_of(write_run(folder, made))


def statuses(of: Section) -> dict[str, Status]:
    return {found.law: found.verdict for found in of.verdicts}


def test_what_one_machine_cannot_measure_comes_from_the_other(tmp_path: Path) -> None:
    """A law that is supported somewhere has that verdict, and it is known from where."""
    cpu = run(tmp_path / "cpu", CPU, collated=PASSED, cut=LACKS, kernel=LACKS)
    gpu = run(tmp_path / "gpu", GPU, collated=LACKS, cut=PASSED, kernel=LACKS)
    (merged,) = merge([*cpu, *gpu])
    assert statuses(merged.section) == {"collated": PASSED, "cut": PASSED, "kernel": LACKS}
    assert [merged.origin(law) for law in ("collated", "cut", "kernel")] == [0, 1, 0]
    assert merged.runs == (*cpu, *gpu)
    assert merged.section.footer
    assert merged.section.footer.counts == {"passed": 2, "not supported": 1}
    assert merged.section.footer.exit_code is ExitCode.OK


def test_a_merged_header_holds_what_any_run_measured(tmp_path: Path) -> None:
    """Operations, stand-ins, releases and policies of all; values that differ stand beside one another."""
    (merged,) = merge([*run(tmp_path / "cpu", CPU, a=PASSED), *run(tmp_path / "gpu", GPU, a=PASSED, b=PASSED)])
    head = merged.section.header
    assert head.operations == ("collate", "partition")
    assert head.stand_ins == ("modelopt",)
    assert head.versions == {
        "megatron-core": "0.18.2", "torch": "2.12.1 + 2.13.0", "transformer-engine": "2.17.1",
    }  # fmt: skip
    assert head.policies == {"overlong": "dropped", "empty": "left out"}
    assert head.places == {"packing": "a.b"}
    assert head.planned == 2


@pytest.mark.parametrize("trouble", [status for status in Status if status not in {PASSED, LACKS}])
@pytest.mark.parametrize("first", [True, False])
def test_trouble_on_one_machine_is_trouble(tmp_path: Path, first: bool, trouble: Status) -> None:
    """Whichever run comes first; the exit code follows."""
    found = [trouble, PASSED] if first else [PASSED, trouble]
    logs = [log for number, status in enumerate(found) for log in run(tmp_path / str(number), CPU, law=status)]
    (merged,) = merge(logs)
    assert statuses(merged.section) == {"law": trouble}
    assert merged.origin("law") == found.index(trouble)
    assert merged.section.footer
    expected = ExitCode.OK if trouble is Status.FAILED_AS_EXPECTED else logs[found.index(trouble)].section.footer
    assert merged.section.footer.exit_code == getattr(expected, "exit_code", expected)


def test_every_verdict_has_its_place_in_the_order() -> None:
    assert sorted(ORDER) == sorted(Status)


def test_an_installed_release_and_the_same_from_a_cache_are_one(tmp_path: Path) -> None:
    """A machine with a GPU has it installed, another one fetched it; each is replayed under its own name."""
    fetched = msgspec.structs.replace(CPU, target="megatron-bridge==0.5.1")
    logs = [*run(tmp_path / "cpu", fetched, a=PASSED), *run(tmp_path / "gpu", GPU, a=FAILED)]
    (merged,) = merge(logs)
    assert statuses(merged.section) == {"a": FAILED}
    assert [one.section.header.target for one in merged.runs] == ["megatron-bridge==0.5.1", "megatron-bridge"]
    other = msgspec.structs.replace(CPU, target="megatron-bridge==0.4.2", target_version="0.4.2")
    assert len(merge([*logs, *run(tmp_path / "old", other, a=PASSED)])) == 2


def test_other_targets_stay_apart(tmp_path: Path) -> None:
    """One column per target, in the order of the folders; what has nothing to be merged with stays as it was."""
    one, two = run(tmp_path / "a", CPU, a=PASSED), run(tmp_path / "b", header("reference"), a=PASSED)
    assert merge([*one, *two]) == [*one, *two]


def test_pass_targets_are_merged_too(tmp_path: Path) -> None:
    """A test that is skipped on one machine counts as it went on the other."""
    logs: list[Log] = []
    for status in (LACKS, PASSED):
        test = PassTarget(
            suite="vlm-in-batch", test="t", target=CPU.target, target_version="0.5.1", verdict=status, seconds=0.0
        )
        logs += run(tmp_path / status.name, CPU, test)
    (merged,) = merge(logs)
    assert [test.verdict for test in merged.section.pass_targets] == [PASSED]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"target_version": "0.4.2"}, "the release is 0.5.1 in one and 0.4.2 in the other"),
        ({"packproof": "9"}, "the packproof is 0.1.0 in one and 9 in the other"),
        ({"baseline": None}, "the baseline is megatron-bridge-0.5.1.toml in one and none in the other"),
        ({"versions": {"megatron-core": "0.19.2"}}, "the release of megatron-core is 0.18.2 in one and 0.19.2"),
        ({"policies": {"overlong": "split"}}, "the declared policy overlong is dropped in one and split"),
    ],
)
def test_runs_that_did_not_measure_the_same_are_refused(tmp_path: Path, fields: dict[str, object], words: str) -> None:
    """The sentence names both runs, what differs, both values and the way out."""
    other = msgspec.structs.replace(CPU, **fields)
    logs = [*run(tmp_path / "a", CPU, a=PASSED), *run(tmp_path / "b", other, a=PASSED)]
    with pytest.raises(LogError) as refusal:
        merge(logs)
    sentence = str(refusal.value)
    assert sentence.startswith(
        f"the runs of megatron-bridge in {tmp_path / 'a'} and {tmp_path / 'b'} cannot be merged"
    )
    assert words in sentence
    assert sentence.endswith("`--diff` sets two runs side by side")


def test_a_third_run_is_held_against_all_before_it(tmp_path: Path) -> None:
    """A release that the first run does not name may still differ from that of the second."""
    nameless = msgspec.structs.replace(CPU, versions={})
    newer = msgspec.structs.replace(CPU, versions={"megatron-core": "0.19.2"})
    logs = [log for name, head in (("a", nameless), ("b", CPU), ("c", newer)) for log in run(tmp_path / name, head)]
    with pytest.raises(LogError, match=r"in .*b and .*c cannot be merged"):
        merge(logs)


def test_a_run_named_twice_is_refused(tmp_path: Path) -> None:
    """In whatever words."""
    run(tmp_path / "a", CPU)
    with pytest.raises(LogError, match="named twice"):
        merge([*logs_of(tmp_path / "a"), *logs_of(tmp_path / "a" / ".." / "a")])


def test_a_log_that_lost_lines_is_refused(tmp_path: Path) -> None:
    """Its missing laws would look as if nobody had asked for them."""
    run(tmp_path / "a", CPU, a=PASSED, b=PASSED)
    log = tmp_path / "a" / "events.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:1] + lines[2:]))
    with pytest.raises(LogError, match=r"changed after the run: its footer counts 2 verdicts, and the 1"):
        logs_of(tmp_path / "a")


def test_a_log_that_holds_verdicts_on_another_target_is_refused(tmp_path: Path) -> None:
    """Such as two logs put together by hand, the end of one lost."""
    made = section(CPU)
    made.verdicts.append(msgspec.structs.replace(verdict("a"), target="trl"))
    made.footer = footer(made)
    with pytest.raises(LogError, match="is mixed: it holds verdicts on trl"):
        logs_of(write_run(tmp_path / "a", made))

"""Merging runs: one section per target, and a clear refusal of what does not belong together."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from conformance import events, merging
from conformance.events import BLAME, Footer, Header, PassTarget, Section, Status, Verdict
from conformance.exit_codes import ExitCode
from conformance.merging import MergeError

HEADER = Header(
    packproof="0.1.0", target="megatron-bridge", target_version="0.5.1", versions={}, imported="isolated",
    stand_ins=("modelopt",), operations=("collate",), python="3.12.1", platform="cpu", profile="pr", seed=0,
    started="2026-11-29T20:00:00+00:00", baseline="/a/megatron-bridge-0.5.1.toml",
)  # fmt: skip
GPU = msgspec.structs.replace(
    HEADER, imported="plain", stand_ins=(), operations=("partition",), platform="gpu",
    baseline="/b/megatron-bridge-0.5.1.toml", started="2026-11-29T19:00:00+00:00",
)  # fmt: skip


def verdict(law: str, status: Status, case: str | None = None) -> Verdict:
    return Verdict(
        law=law, facet="", claim="", target="megatron-bridge", target_version="0.5.1", verdict=status,
        blame=BLAME[status], seconds=0.1, examples=1, case=case,
    )  # fmt: skip


def footer(count: int) -> Footer:
    return Footer(finished="2026-11-29T21:00:00+00:00", seconds=1.5, counts={"any": count}, exit_code=ExitCode.OK)


def run(folder: Path, header: Header, *verdicts: Verdict, end: bool = True) -> Path:
    """A report folder with one section."""
    folder.mkdir()
    section = Section(header, list(verdicts), [], footer(len(verdicts)) if end else None)
    merging.write([section], folder / "events.jsonl")
    return folder


def statuses(section: Section) -> dict[str, Status]:
    return {found.law: found.verdict for found in section.verdicts}


def test_what_one_machine_cannot_measure_comes_from_the_other(tmp_path: Path) -> None:
    """A law that is supported somewhere has that verdict; both machines are named."""
    cpu = run(tmp_path / "cpu", HEADER, verdict("COL-001", Status.PASSED), verdict("CPX-001", Status.NOT_SUPPORTED))
    gpu = run(tmp_path / "gpu", GPU, verdict("COL-001", Status.NOT_SUPPORTED), verdict("CPX-001", Status.PASSED))
    [merged] = merging.merge([cpu, gpu])
    assert statuses(merged) == {"COL-001": Status.PASSED, "CPX-001": Status.PASSED}
    assert merged.header.platform == "cpu + gpu"
    assert merged.header.operations == ("collate", "partition")
    assert merged.header.stand_ins == ("modelopt",)
    assert merged.header.started == GPU.started
    assert merged.footer
    assert merged.footer.counts == {"passed": 2}
    assert merged.footer.exit_code is ExitCode.OK


@pytest.mark.parametrize("first", [Status.PASSED, Status.FAILED])
def test_a_failure_on_one_machine_is_a_failure(tmp_path: Path, first: Status) -> None:
    """Whichever run comes first; the case keeps its place, and the exit code follows."""
    second = Status.FAILED if first is Status.PASSED else Status.PASSED
    runs = [
        run(tmp_path / name, HEADER, verdict("COL-001", status, "cases/COL-001.json"))
        for name, status in (("a", first), ("b", second))
    ]
    [merged] = merging.merge(runs)
    assert statuses(merged) == {"COL-001": Status.FAILED}
    failing = tmp_path / ("a" if first is Status.FAILED else "b")
    assert merged.verdicts[0].case == str(failing / "cases/COL-001.json")
    assert merged.footer
    assert merged.footer.exit_code is ExitCode.DEVIATION


def test_other_targets_stay_apart(tmp_path: Path) -> None:
    """One section per target, in the order of the folders."""
    other = msgspec.structs.replace(HEADER, target="reference")
    runs = [run(tmp_path / "a", HEADER), run(tmp_path / "b", other)]
    assert [section.header.target for section in merging.merge(runs)] == ["megatron-bridge", "reference"]


def test_pass_targets_are_merged_too(tmp_path: Path) -> None:
    """A test that is skipped on one machine counts as it went on the other."""

    def section(status: Status) -> Section:
        test = PassTarget(suite="vlm-in-batch", test="t", target="x", target_version="", verdict=status, seconds=0.0)
        return Section(HEADER, [], [test], footer(0))

    folders: list[Path] = []
    for status in (Status.NOT_SUPPORTED, Status.PASSED):
        folder = tmp_path / status.name
        folder.mkdir()
        merging.write([section(status)], folder / "events.jsonl")
        folders.append(folder)
    [merged] = merging.merge(folders)
    assert [test.verdict for test in merged.pass_targets] == [Status.PASSED]


def test_a_truncated_run_is_refused(tmp_path: Path) -> None:
    """Its missing laws would look as if nobody had asked for them."""
    cut = run(tmp_path / "cut", HEADER, verdict("COL-001", Status.PASSED), end=False)
    with pytest.raises(MergeError, match=r"the run of megatron-bridge in .*cut is truncated"):
        merging.merge([cut])


def test_a_log_with_fewer_verdicts_than_its_footer_counts_is_refused(tmp_path: Path) -> None:
    """Lines were lost or added after the run."""
    folder = run(tmp_path / "a", HEADER, verdict("COL-001", Status.PASSED), verdict("COL-002", Status.PASSED))
    log = folder / "events.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:1] + lines[2:]))
    with pytest.raises(MergeError, match="footer counts 2 verdicts, and it holds 1"):
        merging.merge([folder])


@pytest.mark.parametrize(
    ("name", "value"),
    [("target_version", "0.4.2"), ("profile", "nightly"), ("seed", 7), ("packproof", "9"), ("baseline", None)],
)
def test_runs_that_did_not_measure_the_same_are_refused(tmp_path: Path, name: str, value: object) -> None:
    """The sentence names the field and both values."""
    other = msgspec.structs.replace(HEADER, **{name: value})
    runs = [run(tmp_path / "a", HEADER), run(tmp_path / "b", other)]
    with pytest.raises(MergeError, match=f"do not fit: {name} is .* and {value!r}"):
        merging.merge(runs)


def test_a_run_named_twice_is_refused(tmp_path: Path) -> None:
    """Its seconds would count twice."""
    folder = run(tmp_path / "a", HEADER)
    with pytest.raises(MergeError, match="named twice"):
        merging.merge([folder, folder])


def test_a_merged_log_can_be_read_again(tmp_path: Path) -> None:
    """``write`` and ``events.read`` are inverse."""
    [merged] = merging.merge([run(tmp_path / "a", HEADER, verdict("COL-001", Status.PASSED))])
    merging.write([merged], tmp_path / "events.jsonl")
    assert events.read(tmp_path / "events.jsonl") == [merged]

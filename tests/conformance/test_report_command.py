"""`packproof report` and `packproof show` as people call them."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from logs import CUT_CASE, header, section, verdict, write_run

from conformance import cases, cli
from conformance.events import Status
from conformance.exit_codes import ExitCode
from reference_impl.documents import PackedRow
from reference_impl.rows_io import write_rows


def packproof(*arguments: str | Path) -> int:
    """Exit code of a call, as the script would end."""
    before = sys.argv
    sys.argv = ["packproof", *map(str, arguments)]
    try:
        cli.main()
    except SystemExit as end:
        return int(end.code or 0)
    finally:
        sys.argv = before
    return 0


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    """Two runs of one target; the second fixes one law and breaks another."""
    one = section(header("t"), verdict("BIN-001"), verdict("BIN-002", Status.FAILED), verdict("BIN-003"))
    two = section(header("t"), verdict("BIN-001", Status.FAILED), verdict("BIN-002"), verdict("BIN-003"))
    return write_run(tmp_path / "one", one), write_run(tmp_path / "two", two)


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    """A packed file of two rows, one narrow with padding and one wide."""
    narrow = PackedRow(
        np.array([5, 6, 7, 1, 0, 8, 9, 3, 0, 0]), np.array([0, 1, 1, 0, 0, 1, 1, 0, 0, 0], dtype=np.bool_),
        np.array([0, 5]), np.array([4, 3]),
    )  # fmt: skip
    wide = PackedRow(np.arange(1026), np.zeros(1026, dtype=np.bool_), np.array([0, 513]))
    write_rows([narrow, wide], tmp_path / "packed.parquet")
    return tmp_path / "packed.parquet"


def test_several_runs_become_one_page(
    runs: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Runs of one target are one column, another target is a column of its own; what was merged is said."""
    page = tmp_path / "made" / "page.html"
    other = write_run(tmp_path / "other", section(header("u"), verdict("BIN-001")))
    assert packproof("report", *runs, other, "--html", page) == ExitCode.OK
    text = page.read_text()
    assert all(str(run) in text for run in runs)
    assert text.count("<article") == 2
    assert capsys.readouterr().out.splitlines() == [
        f"merged into t==0.5.1: {runs[0]}, {runs[1]}",
        f"page: {page}",
    ]


def test_runs_that_do_not_belong_together_are_one_sentence(
    runs: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is written; the sentence names both runs, what differs and the way out."""
    page = tmp_path / "page.html"
    newer = write_run(tmp_path / "newer", section(header("t", "0.6.2"), verdict("BIN-001")))
    assert (
        f"the runs of t in {runs[0]} and {newer} cannot be merged: the release is 0.5.1 in one and 0.6.2 in the other;"
        " `--diff` sets two runs side by side"
    ) in refused(capsys, "report", runs[0], newer, "--html", page)
    assert f"in {runs[0]} is named twice" in refused(capsys, "report", runs[0], runs[0], "--html", page)
    lines = (runs[1] / "events.jsonl").read_bytes().splitlines(keepends=True)
    (runs[1] / "events.jsonl").write_bytes(b"".join(lines[:1] + lines[2:]))
    assert "was changed after the run: its footer counts 3" in refused(capsys, "report", *runs, "--html", page)
    assert not page.exists()


def test_two_runs_are_compared_in_words_and_on_a_page(
    runs: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "diff.html"
    assert packproof("report", "--diff", *runs, "--html", page) == ExitCode.OK
    assert "1 broken, 1 fixed" in capsys.readouterr().out
    assert '"query":"changed"' in page.read_text()


def test_the_same_run_twice_has_not_changed(
    runs: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert packproof("report", "--diff", runs[0], runs[0], "--html", tmp_path / "x.html") == ExitCode.OK
    assert "nothing changed" in capsys.readouterr().out


def test_a_difference_pairs_targets_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever their order; a target of one run only has nothing to be compared with."""
    passes, fails = verdict("BIN-001"), verdict("BIN-001", Status.FAILED)
    one = write_run(tmp_path / "1", section(header("a"), passes), section(header("b"), passes))
    two = write_run(tmp_path / "2", section(header("b"), fails), section(header("c"), fails))
    assert packproof("report", "--diff", one, two, "--html", tmp_path / "x.html") == ExitCode.OK
    lines = capsys.readouterr().out.splitlines()
    assert "measured in one of the two runs only: a, c" in lines
    assert [line for line in lines if "broken" in line] == [f"{one}:b==0.5.1 to {two}:b==0.5.1: 1 broken"]


def refused(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """The one sentence of a call that is refused."""
    assert packproof(*arguments) == ExitCode.USAGE
    captured = capsys.readouterr()
    assert captured.out == ""
    (sentence,) = captured.err.splitlines()
    return sentence


def test_what_cannot_be_reported_is_one_sentence(
    runs: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    empty, taken = tmp_path / "empty", tmp_path / "taken"
    empty.mkdir()
    taken.mkdir()
    truncated = write_run(tmp_path / "truncated", section(header("t"), verdict("BIN-001"), truncated=True))
    other = write_run(tmp_path / "other", section(header("u"), verdict("BIN-001")), section(header("v")))
    assert "there is no folder" in refused(capsys, "report", tmp_path / "none", "--html", page)
    assert "holds no events.jsonl" in refused(capsys, "report", empty, "--html", page)
    assert "is truncated: it has no footer; run it again" in refused(
        capsys, "report", runs[0], truncated, "--html", page
    )
    assert "compares two runs, not 1" in refused(capsys, "report", "--diff", runs[0], "--html", page)
    assert "one run measured t, the other u, v" in refused(capsys, "report", "--diff", runs[0], other, "--html", page)
    assert not page.exists()
    assert "cannot be written" in refused(capsys, "report", runs[0], "--html", taken)


def test_a_row_is_drawn_with_its_ranks(packed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert packproof("show", f"{packed}#0", "--context-parallel-size", "2") == ExitCode.OK
    lines = capsys.readouterr().out.splitlines()
    assert "document      a a a . | b b . ." in lines
    assert "labels        6 7 1 0 | 9 3 0 0" in lines
    assert "CP rank       0 1 1 0 | 0 1 1 0" in lines


def test_a_wide_row_fits_a_terminal(
    packed: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert packproof("show", f"{packed}#1", "--context-parallel-size", "2") == ExitCode.OK
    out = capsys.readouterr().out
    grid = [line for line in out.splitlines() if line.startswith(("slot", "document", "CP rank"))]
    assert len(grid) == 3
    assert max(map(len, grid)) <= 80
    assert "a: slots 0 to 511" in out
    assert "does not say which slots are padding" in out


def test_a_row_becomes_an_svg_file(packed: Path, tmp_path: Path) -> None:
    assert packproof("show", f"{packed}#1", "--svg", tmp_path / "row.svg") == ExitCode.OK
    assert "each column is 16 slots wide" in (tmp_path / "row.svg").read_text()


def test_a_case_is_drawn_with_what_was_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases.write(CUT_CASE, tmp_path / "case.json")
    assert packproof("show", tmp_path / "case.json") == ExitCode.OK
    out = capsys.readouterr().out
    assert "CP rank   0 1 1 0 | 0 1 1 0" in out
    assert "world: 2" in out
    assert "all slots are owned" in out
    assert packproof("show", tmp_path / "case.json", "--context-parallel-size", "4") == ExitCode.OK
    assert "CP size 4 cannot cut it" in capsys.readouterr().out


def test_what_cannot_be_shown_is_one_sentence(
    packed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = cases.Case(law="CPX-999", inputs={})
    cases.write(plain, tmp_path / "unknown.json")
    (tmp_path / "broken.npy").write_bytes(b"\x93NUMPY")
    assert "packed.parquet#0 for its first row" in refused(capsys, "show", packed)
    assert "rows 0 to 1" in refused(capsys, "show", f"{packed}#2")
    assert "by a number" in refused(capsys, "show", f"{packed}#last")
    assert "name a row of a packed file" in refused(capsys, "show", "rows.csv#0")
    assert "existing file" in refused(capsys, "show", tmp_path / "none.parquet#0")
    assert "whole file of packed rows" in refused(capsys, "show", f"{tmp_path / 'broken.npy'}#0")
    assert "no law 'CPX-999'" in refused(capsys, "show", tmp_path / "unknown.json")
    assert "must be a file that can be written" in refused(capsys, "show", f"{packed}#0", "--svg", tmp_path)


def test_a_pickle_that_runs_code_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A foreign ``.npy`` file may name any function; nothing of it is called."""

    class Bomb:
        def __reduce__(self) -> tuple[object, tuple[Path]]:
            return Path.touch, (tmp_path / "exploded",)

    np.save(tmp_path / "bomb.npy", np.array([{"input_ids": Bomb()}], dtype=object), allow_pickle=True)
    assert "never need" in refused(capsys, "show", f"{tmp_path / 'bomb.npy'}#0")
    assert not (tmp_path / "exploded").exists()

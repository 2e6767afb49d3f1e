"""`check()` in a user's own test file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from fakes import Nothing, OffByOne

from conformance import check
from conformance.checking import Deviations
from reference_impl.reference import ReferenceImplementation

USER_TEST = """
from conformance import check
from fakes import OffByOne

def test_my_packer():
    check(OffByOne(), laws="CPX-*")
"""


def test_the_reference_has_no_deviation(tmp_path: Path) -> None:
    check(ReferenceImplementation(), laws="BIN-*", folder=tmp_path)


def test_a_planted_off_by_one_is_found_drawn_and_reproduced(tmp_path: Path) -> None:
    with pytest.raises(Deviations) as found:
        check(OffByOne(), laws="CPX-*", folder=tmp_path)
    message = str(found.value)
    assert "document" in message
    assert "position" in message  # the drawing
    assert "packproof replay" in message
    assert "target = OffByOne()" in message
    assert list(tmp_path.glob("*.json"))


def test_the_snippet_runs_without_the_test_machinery(tmp_path: Path) -> None:
    """At most ten lines, and neither hypothesis, pytest nor the laws are loaded by them."""
    with pytest.raises(Deviations) as found:
        check(OffByOne(), laws="CPX-00[12]", folder=tmp_path)
    _, _, tail = str(found.value).partition("reproduce:\n")
    first = tail.partition("\n\n")[0]
    lines = [line.removeprefix("    ") for line in first.splitlines() if line.startswith("    ")]
    assert 0 < len(lines) <= 10
    guard = "import sys; assert not {'hypothesis', 'pytest', 'properties.law'} & set(sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", "\n".join([*lines, guard])],
        cwd=Path(__file__).parent, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert result.stdout


def test_a_class_without_operations_cannot_pass(tmp_path: Path) -> None:
    with pytest.raises(Deviations, match="no law could be run"):
        check(Nothing(), folder=tmp_path)


def test_a_ten_line_test_file_of_a_user_fails_with_all_of_it(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(USER_TEST)
    (tmp_path / "fakes.py").write_text((Path(__file__).parent / "fakes.py").read_text())
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 1, result.stdout + result.stderr
    assert "packproof replay .packproof/cases/CPX-" in result.stdout
    assert "cu_seqlens_padded" in result.stdout

"""What is taken out of a checkout's skill document, and what is refused."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from conformance.skill_document import LOCATIONS, Command, Refusal, SkillDocument, parse, read

FILES = ("tests/unit/test_a.py", "tests/unit/test_b.py")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


def shell(*lines: str) -> str:
    return "\n".join(["# Verification", "```bash", *lines, "```", ""])


def test_joined_and_continued_commands_are_taken_in_order(checkout: Path) -> None:
    text = shell(
        "uv run python -m pytest tests/unit/test_a.py -v && \\",
        'uv run python -m pytest tests/unit/test_b.py -k "one or (two and not three)" -q -x -s --tb=short && \\',
        "pytest tests/unit --tb long",
    )
    assert parse(text, checkout, "doc").commands == (
        Command(("tests/unit/test_a.py",)),
        Command(("tests/unit/test_b.py",), "one or (two and not three)"),
        Command(("tests/unit",)),
    )


def test_a_shell_line_outside_a_block_is_taken(checkout: Path) -> None:
    text = (
        "Run this:\n\n  uv run python -m pytest tests/unit/test_a.py -v && \\\npython -m pytest tests/unit/test_b.py\n"
    )
    assert parse(text, checkout, "doc").commands == (Command((FILES[0],)), Command((FILES[1],)))


def test_prose_and_code_of_other_languages_are_no_commands(checkout: Path) -> None:
    text = (
        "We run `python -m pytest tests/unit/test_a.py` nightly.\npytest is fine.\n"
        "```python\npython -m pytest tests/unit/test_a.py\n```\n" + shell("pip install pytest", "cd tests && ls")
    )
    assert parse(text, checkout, "doc").commands == ()


def test_node_ids_are_kept(checkout: Path) -> None:
    text = shell("python -m pytest 'tests/unit/test_a.py::TestA::test_one[a-1]' # as CI does")
    assert parse(text, checkout, "doc").commands == (Command(("tests/unit/test_a.py::TestA::test_one[a-1]",)),)


HOSTILE = {
    "python -m pytest tests/unit/test_a.py -p evil": "option '-p'",
    "python -m pytest --rootdir=/ tests/unit/test_a.py": "option '--rootdir=/'",
    "python -m pytest tests/unit/test_a.py -c evil.ini": "option '-c'",
    "python -m pytest tests/unit/test_a.py -o addopts=-pevil": "option '-o'",
    "python -m pytest tests/unit/test_a.py; rm -rf /": "needs a shell",
    "python -m pytest tests/unit/test_a.py | tee out": "needs a shell",
    "python -m pytest tests/unit/test_a.py > /etc/passwd": "needs a shell",
    "python -m pytest tests/unit/test_a.py & evil": "needs a shell",
    "python -m pytest $(evil)": "needs a shell",
    "python -m pytest `evil`": "needs a shell",
    "python -m pytest tests/unit/test_a.py -k '$(evil)'": "needs a shell",
    "python -m pytest tests/unit/test_a.py -k a -k b": "more than one",
    "python -m pytest tests/unit/test_a.py -k": "is empty",
    "python -m pytest /etc/passwd": "no path inside",
    "python -m pytest C:\\\\evil.py": "needs a shell",
    "python -m pytest C:/evil.py": "no path inside",
    "python -m pytest ~/evil.py": "no path inside",
    "python -m pytest @evil.txt": "no path inside",
    "python -m pytest ../evil.py": "no path inside",
    "python -m pytest tests/../../evil.py": "no path inside",
    "python -m pytest tests/link/evil.py": "leads out of",
    "python -m pytest tests/unit/test_c.py": "does not exist",
    "python -m pytest -k a": "names no path",
    "python -m pytest 'tests/unit/test_a.py": "quotes",
    "PYTHONPATH=/evil python -m pytest tests/unit/test_a.py": "begins with",
    "evil --with python -m pytest tests/unit/test_a.py": "begins with",
    "uv run --with evil python -m pytest tests/unit/test_a.py": "begins with",
    "rm -rf / ; python -m pytest tests/unit/test_a.py": "begins with",
}


@pytest.mark.parametrize("line", HOSTILE)
def test_an_invocation_with_more_than_paths_and_a_keyword_is_refused(
    line: str, checkout: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "evil.py").touch()
    (checkout / "tests" / "link").symlink_to(outside)
    (command,) = parse(shell(line), checkout, "doc").commands
    assert isinstance(command, Refusal)
    assert HOSTILE[line] in command.reason


def test_a_refusal_leaves_the_other_commands_alone(checkout: Path) -> None:
    text = shell("python -m pytest tests/unit/test_a.py -p evil && python -m pytest tests/unit/test_b.py")
    refused, taken = parse(text, checkout, "doc").commands
    assert isinstance(refused, Refusal)
    assert taken == Command((FILES[1],))


@pytest.mark.parametrize(
    "prose",
    [
        "- first command reports `8 passed`\n- second command reports `14 passed`\n- third command reports `2 passed`",
        "- third: 2 passed\n- 1st: 8 passed\n- 2nd: 14 passed",
        "Expect 8 passed, then 14 passed, then 2 passed.",
        "最初のコマンドで 8 passed と表示される\n2 番目のコマンドで 14 passed\n3 番目のコマンドで 2 passed",
    ],
)
def test_claims_belong_to_the_command_they_name(prose: str, checkout: Path) -> None:
    document = parse(prose, checkout, "doc")
    assert [document.claimed(position) for position in (1, 2, 3, 4)] == [8, 14, 2, None]


def test_a_document_may_claim_nothing(checkout: Path) -> None:
    assert parse(shell("pytest tests/unit") + "all selected tests pass", checkout, "doc").claims == ()


def test_output_shown_in_a_block_is_no_claim(checkout: Path) -> None:
    assert parse(shell("pytest tests/unit", "3 passed in 0.1s"), checkout, "doc").claims == ()


def assert_seed(document: SkillDocument) -> None:
    assert [document.claimed(position) for position in (1, 2, 3)] == [8, 14, 2]
    assert [shlex.split(str(command))[-1] for command in document.commands][2] == "enable_packing"
    assert document.source.startswith("packproof's default")


def test_the_seed_takes_the_place_of_a_missing_document(tmp_path: Path) -> None:
    folder = tmp_path / "tests" / "unit_tests" / "training"
    (folder / "utils").mkdir(parents=True)
    for name in ("utils/test_packed_seq_utils.py", "test_config.py", "test_vlm_step.py"):
        (folder / name).touch()
    document = read(tmp_path)
    assert_seed(document)
    assert all(isinstance(command, Command) for command in document.commands)


@pytest.mark.parametrize("location", LOCATIONS)
def test_the_document_of_the_checkout_comes_before_the_seed(location: str, checkout: Path) -> None:
    (checkout / location).parent.mkdir(parents=True)
    (checkout / location).write_text(shell("pytest tests/unit"))
    document = read(checkout)
    assert document.source == location
    assert document.commands == (Command(("tests/unit",)),)


def test_a_document_without_commands_leaves_the_seed(checkout: Path) -> None:
    (checkout / LOCATIONS[0]).parent.mkdir(parents=True)
    (checkout / LOCATIONS[0]).write_bytes(b"\xff\xfe no commands")
    document = read(checkout)
    assert_seed(document)
    assert LOCATIONS[0] in document.source


def test_a_document_that_leads_out_of_the_checkout_is_not_read(
    checkout: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "SKILL.md"
    outside.write_text(shell("pytest tests/unit"))
    (checkout / LOCATIONS[0]).parent.mkdir(parents=True)
    (checkout / LOCATIONS[0]).symlink_to(outside)
    assert_seed(read(checkout))

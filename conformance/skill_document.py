"""Read which tests a Megatron Bridge checkout calls the verification of sequence packing, and what it claims of them.

The skill document says so. It is text from outside: its pytest invocations are taken apart word by word,
only paths inside the checkout and a ``-k`` expression are kept, and nothing of it ever reaches a shell.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath

LOCATIONS = (
    "skills/nemo-mbridge-perf-sequence-packing/SKILL.md",  # from 0.5
    "skills/perf-techniques/sequence-packing/SKILL.md",  # 0.4
)


@dataclass(frozen=True)
class Command:
    """One pytest invocation.

    Attributes:
        paths: files, folders or node ids, relative to the checkout.
        keyword: the ``-k`` expression, where there is one.
    """

    paths: tuple[str, ...]
    keyword: str | None = None

    def __str__(self) -> str:
        return shlex.join(["pytest", *self.paths, *(["-k", self.keyword] if self.keyword else [])])


@dataclass(frozen=True)
class Refusal:
    """An invocation that is not run.

    Attributes:
        text: the invocation as the document has it.
        reason: why not, as the rest of a sentence.
    """

    text: str
    reason: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Claim:
    """How many tests a document says a command passes.

    Attributes:
        position: which command, counted from 1.
        passed: the count.
        text: the line that claims it.
    """

    position: int
    passed: int
    text: str


@dataclass(frozen=True)
class SkillDocument:
    """The verification that a checkout describes.

    Attributes:
        source: path of the document in the checkout, or what took its place.
        commands: the pytest invocations, in order.
        claims: the counts that are claimed.
    """

    source: str
    commands: tuple[Command | Refusal, ...]
    claims: tuple[Claim, ...]

    def claimed(self, position: int) -> int | None:
        """Count claimed for a command (counted from 1)."""
        return next((claim.passed for claim in self.claims if claim.position == position), None)


SEED = """
python -m pytest tests/unit_tests/training/utils/test_packed_seq_utils.py && \\
python -m pytest tests/unit_tests/training/test_config.py -k "packed_sequence or pack_sequences_in_batch or \
context_parallel_seq_length_divisibility or context_parallel_finetuning_validations" && \\
python -m pytest tests/unit_tests/training/test_vlm_step.py -k "enable_packing"

first command reports 8 passed
second command reports 14 passed
third command reports 2 passed
"""
"""The verification of Bridge 0.3 and 0.4, for checkouts that describe none."""

_LARGEST = 1_000_000  # bytes; the real documents have 6,000


def read(checkout: Path) -> SkillDocument:
    """The verification that a checkout describes, or the seed's three commands where it describes none."""
    for location in LOCATIONS:
        path = checkout / location
        if path.is_file() and path.resolve().is_relative_to(checkout.resolve()):
            with path.open("rb") as file:
                text = file.read(_LARGEST).decode(errors="replace")
            document = parse(text, checkout, location)
            if document.commands:
                return document
            return parse(SEED, checkout, f"packproof's default, as {location} names no pytest command")
    return parse(SEED, checkout, "packproof's default, as the checkout has no document on sequence packing")


def parse(text: str, checkout: Path, source: str) -> SkillDocument:
    """Take the pytest invocations and the claimed counts out of a document."""
    commands: list[Command | Refusal] = []
    claims: list[Claim] = []
    for line, fence in _logical_lines(text):
        if fence is None:
            claims += _claims(line, claims[-1].position if claims else 0)
        if _may_be_shell(line, fence):
            commands += _commands(line, checkout)
    return SkillDocument(source, tuple(commands), tuple(claims))


def _logical_lines(text: str) -> Iterator[tuple[str, str | None]]:
    """Lines, continuations joined, with the language of the fenced block that holds them (None outside)."""
    fence: str | None = None
    pending = ""
    for line in text.splitlines():
        if re.match(r"\s*(```|~~~)", line):
            if pending:
                yield pending, fence
                pending = ""
            fence = line.strip().lstrip("`~").strip().lower() if fence is None else None
        elif line.rstrip().endswith("\\"):
            pending += line.rstrip()[:-1] + " "
        else:
            yield pending + line, fence
            pending = ""
    if pending:
        yield pending, fence


_SHELLS = {"", "bash", "sh", "shell", "console", "shell-session", "zsh"}
_INVOCATION = r"python3?\s+-m\s+pytest\b"


def _may_be_shell(line: str, fence: str | None) -> bool:
    """A line of a shell block that mentions pytest, or one of no block that begins as an invocation does."""
    if fence is None:
        return re.match(rf"\s*(\$\s+)?(uv\s+run\s+)?{_INVOCATION}", line) is not None
    return fence in _SHELLS and "pytest" in line


_COUNT = re.compile(r"(\d{1,6})\s+passed")
_WORDS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_ORDINAL = re.compile(
    rf"\b({'|'.join(_WORDS)})\b|\b(\d{{1,2}})(?:st|nd|rd|th)\b|(\d{{1,2}})\s*番目|(最初)", re.IGNORECASE
)


def _claims(line: str, last: int) -> list[Claim]:
    """Counts that a line claims; one without an ordinal belongs to the command after the last."""
    claims: list[Claim] = []
    begin = 0
    for count in _COUNT.finditer(line):
        ordinals = list(_ORDINAL.finditer(line, begin, count.start()))
        last = _position(ordinals[-1]) if ordinals else last + 1
        claims.append(Claim(last, int(count[1]), line.strip()))
        begin = count.end()
    return claims


def _position(ordinal: re.Match[str]) -> int:
    word, digits, japanese, first = ordinal.groups()
    return _WORDS.index(word.lower()) + 1 if word else 1 if first else int(digits or japanese)


class _Refused(Exception):
    """Why an invocation is not run."""


def _commands(line: str, checkout: Path) -> Iterator[Command | Refusal]:
    """The pytest invocations of a shell line, which ``&&`` may join."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:
        yield Refusal(line.strip(), "its quotes do not match")
        return
    for part in _split(words):
        text = " ".join(part)
        try:
            arguments = _arguments(part)
            if arguments is not None:
                yield _command(arguments, checkout)
        except _Refused as refused:
            yield Refusal(text, str(refused))


def _split(words: list[str]) -> Iterator[list[str]]:
    """Commands between ``&&``; a comment ends the line."""
    part: list[str] = []
    for word in words:
        if word.startswith("#"):
            break
        if word == "&&":
            yield part
            part = []
        else:
            part.append(word)
    yield part


_HARMLESS_UV = {"--active", "--frozen", "--locked", "--no-sync", "--all-extras", "--all-groups"}


def _arguments(words: list[str]) -> list[str] | None:
    """What follows ``pytest``; None for a command that is no pytest invocation."""
    rest = words[1:] if words[:1] == ["$"] else words
    if rest[:2] == ["uv", "run"]:
        rest = rest[2:]
        while rest and rest[0] in _HARMLESS_UV:
            rest = rest[1:]
    if rest[:1] in (["python"], ["python3"]) and rest[1:3] == ["-m", "pytest"]:
        return rest[3:]
    if rest[:1] in (["pytest"], ["py.test"]):
        return rest[1:]
    if re.search(rf"{_INVOCATION}|\bpytest\s+\S*tests/|-m pytest\b", " ".join(words)):
        raise _Refused(
            f"it begins with {' '.join(words[:2])!r}; only `python -m pytest` is taken, alone or under `uv run`"
        )
    return None


_IGNORED = re.compile(r"-(v+|q+|x|s)|--tb=(auto|long|short|line|native|no)")


def _command(arguments: list[str], checkout: Path) -> Command:
    """Keep the paths and the ``-k`` expression."""
    paths: list[str] = []
    keyword: str | None = None
    rest = iter(arguments)
    for word in rest:
        _refuse_shell(word)
        if word.startswith("-k") or word == "--tb":
            value = next(rest, "") if word in ("-k", "--tb") else word[2:].removeprefix("=")
            _refuse_shell(value)
            if word == "--tb":
                continue
            if keyword is not None or not value.strip():
                raise _Refused(
                    "it has more than one `-k` expression" if value.strip() else "its `-k` expression is empty"
                )
            keyword = value
        elif word.startswith("-"):
            if not _IGNORED.fullmatch(word):
                raise _Refused(f"it has the option {word!r}; only a `-k` expression is taken")
        else:
            paths.append(_inside(word, checkout))
    if not paths:
        raise _Refused("it names no path")
    return Command(tuple(paths), keyword)


def _refuse_shell(word: str) -> None:
    """Refuse what only a shell understands, and characters that no path and no expression needs."""
    if set(word) & set("$`\\\0") or not word.isprintable():
        raise _Refused(f"it has {word!r}, which needs a shell")
    if word and set(word) <= set("();<>|&"):
        raise _Refused(f"it goes on with {word!r}, which needs a shell")


def _inside(word: str, checkout: Path) -> str:
    """A path or node id whose file exists in the checkout, links followed."""
    name, separator, node = word.partition("::")
    path = PurePosixPath(name)
    if path.is_absolute() or PureWindowsPath(name).is_absolute() or name.startswith(("~", "@")) or ".." in path.parts:
        raise _Refused(f"{word!r} is no path inside the checkout")
    found = checkout / path
    if not found.exists():
        raise _Refused(f"{word!r} does not exist in this checkout")
    if not found.resolve().is_relative_to(checkout.resolve()):
        raise _Refused(f"{word!r} leads out of the checkout")
    return f"{path}{separator}{node}"

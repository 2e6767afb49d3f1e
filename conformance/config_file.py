"""A configuration file as settings by dotted name, with values of the type that is asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import yaml

MOST_SETTINGS = 100_000
"""A file with more is no training configuration; YAML anchors can make it of few lines."""

DEEPEST = 32
"""Levels of sections, beyond which a file nests itself."""


class ConfigError(ValueError):
    """A file that holds no usable training configuration.

    Args:
        path: the file.
        problem: what is wrong and the way out, as the end of a sentence.
    """

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(path, problem)
        self.path = path
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"


@dataclass
class Settings:
    """Settings of a file by dotted name.

    A setting may have several names, of which a file uses one. ``null`` counts as not set.

    Attributes:
        path: the file.
        values: settings by dotted name.
        used: names that were asked for and are there.
    """

    path: Path
    values: Mapping[str, object]
    used: set[str] = field(default_factory=set[str])

    def error(self, name: str, problem: str) -> ConfigError:
        """An error about the value of one setting."""
        return ConfigError(self.path, f"{name} = {self.values.get(name)!r}: {problem}")

    def has(self, section: str) -> bool:
        """Whether a section is there, be it empty."""
        return self.values.get(section) is not None or any(name.startswith(f"{section}.") for name in self.values)

    def names(self, names: Sequence[str]) -> list[str]:
        """Those of ``names`` that the file uses, ``null`` included."""
        return [name for name in names if name in self.values]

    def integer(self, names: Sequence[str], least: int | None = None) -> int | None:
        """A setting that is a whole number.

        Raises:
            ConfigError: it is not, or below ``least``, or two names disagree.
        """
        name, value = self._find(names)
        if value is None:
            return None
        if isinstance(value, int) and not isinstance(value, bool) and (least is None or value >= least):
            return value
        raise self.error(name, "must be an integer" + ("" if least is None else f" of {least} or more"))

    def flag(self, names: Sequence[str]) -> bool | None:
        """A setting that is true or false.

        Raises:
            ConfigError: it is neither, or two names disagree.
        """
        name, value = self._find(names)
        if value is None or isinstance(value, bool):
            return value
        raise self.error(name, "must be true or false")

    def text(self, names: Sequence[str]) -> str | None:
        """A setting that is a string.

        Raises:
            ConfigError: it is not, or two names disagree.
        """
        name, value = self._find(names)
        if value is None or isinstance(value, str):
            return value
        raise self.error(name, "must be a string")

    def words(self, names: Sequence[str]) -> list[str]:
        """A setting that is one word, words between commas, or a list of them; members of enums by their last name.

        Raises:
            ConfigError: it is something else, or two names disagree.
        """
        name, value = self._find(names)
        if value is None:
            return []
        words = value.split(",") if isinstance(value, str) else value
        if not isinstance(words, list):
            raise self.error(name, "must be a word or a list of words")
        return [self._word(name, word) for word in cast("list[object]", words)]

    def _word(self, name: str, word: object) -> str:
        if isinstance(word, dict):  # how Bridge writes a member of an enum
            word = cast("dict[str, object]", word).get("_name_")
        if not isinstance(word, str):
            raise self.error(name, "must be a word or a list of words")
        return word.strip().rpartition(".")[2]

    def _find(self, names: Sequence[str]) -> tuple[str, object]:
        given = [name for name in names if self.values.get(name) is not None]
        self.used.update(given)
        for name in given[1:]:
            if self.values[name] != self.values[given[0]]:
                raise self.error(name, f"disagrees with {given[0]} = {self.values[given[0]]!r}; keep one of the two")
        return (given[0], self.values[given[0]]) if given else ("", None)


def read(path: Path, sections: Sequence[str]) -> Settings:
    """Settings of a YAML file, or a JSON file with the suffix ``.json``.

    Args:
        path: the file.
        sections: names that must hold settings where they are given, not a value.

    Raises:
        ConfigError: the file cannot be read, is neither, holds no settings, or a section is a value.
    """
    settings = Settings(path, _flat(path, _parsed(path)))
    for section in sections:
        if settings.values.get(section) not in (None, {}):
            raise settings.error(section, "must hold settings, not a value")
    return settings


def _parsed(path: Path) -> Mapping[object, object]:
    try:
        text = path.read_text(encoding="utf-8")
        content: object = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    except OSError as error:
        raise ConfigError(path, f"cannot be read ({error.strerror}); give a YAML or JSON file") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        what = " ".join(str(error).split())
        raise ConfigError(path, f"is no {'JSON' if path.suffix == '.json' else 'YAML'} file ({what})") from error
    if not isinstance(content, dict):
        raise ConfigError(path, "holds no settings; write names such as model.seq_length with their values")
    return cast("Mapping[object, object]", content)


def _flat(path: Path, content: Mapping[object, object]) -> dict[str, object]:
    settings: dict[str, object] = {}
    for name, value in _leaves(content):
        if len(settings) > MOST_SETTINGS or name.count(".") > DEEPEST:
            raise ConfigError(path, f"{name[:60]}... is one setting too many or too deep for a training configuration")
        if settings.get(name, value) != value:
            raise ConfigError(path, f"{name} is set twice, to {settings[name]!r} and {value!r}; keep one of the two")
        settings[name] = value
    return settings


def _leaves(section: Mapping[object, object], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, object]]:
    """Settings by dotted name; an empty section is a setting of its own, as is what lies too deep."""
    for key, value in section.items():
        if isinstance(value, dict) and value and depth <= DEEPEST:
            yield from _leaves(cast("Mapping[object, object]", value), f"{prefix}{key}.", depth + 1)
        else:
            yield f"{prefix}{key}", value

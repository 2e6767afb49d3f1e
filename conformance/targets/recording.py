"""``recording:DIR``: answers what a target answered elsewhere, to the questions that were put to it there.

A law that was recorded is run on its recorded inputs. A law that was added later is run on the inputs of every
recorded law that draws them alike; those of which some call was not recorded do not count, so a law passes only on
answers that the target really gave.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, cast

import msgspec
import numpy as np
from hypothesis import settings

from conformance import recordings
from conformance.protocol import Kind, Trouble
from conformance.recordings import Array, RecordingError
from conformance.targets.command import Accident, Refused
from properties.law import Inputs, Law, Outcome, Verdict, catalogue
from properties.routing import asking, route
from properties.watch import fingerprint
from reference_impl.errors import Inexpressible
from reference_impl.interface import Implementation, Op

ROUNDING = 1e-12
"""Difference of two floating inputs that count as the same: the last bit of a sine depends on the machine."""

COMPARED = 20
"""Draws after which two laws count as drawing alike."""


@dataclass(eq=False)
class _Answers:
    """What was answered to one question, each different answer once, in order.

    Attributes:
        floats: the floating arrays of the question.
        results: the answers; a target that is not deterministic has several.
        given: how many were given since the example began.
    """

    floats: list[Array]
    results: list[tuple[Any, Trouble | None]]
    given: int = 0


class Recording(Implementation):
    """Answers from a folder.

    Args:
        folder: holds nothing but what ``conformance.recorder`` wrote of one target.

    Attributes:
        about: what was recorded, see ``recordings.Stored``.

    Raises:
        RecordingError: the folder is missing or empty, a file is damaged or foreign, or the files are of two targets.
    """

    name: ClassVar[str] = "recording"

    def __init__(self, folder: Path) -> None:
        paths = sorted(folder.glob(f"*{recordings.SUFFIX}"))
        if not paths:
            raise RecordingError(
                f"{folder} holds no {recordings.SUFFIX} file: name the folder of a recording, such as"
                " those of `pytest gpu_tests/test_records.py --records DIR` in DIR/laws"
            )
        self.about: dict[str, str] = {}
        self._questions: dict[object, list[_Answers]] = {}
        self._inputs: dict[str, list[Inputs]] = {}
        self._operations: set[Op] = set()
        self._asked: list[_Answers] = []
        self._laws = catalogue()
        for path in paths:
            self._read(path)

    def operations(self) -> frozenset[Op]:
        """Operations of which a call was recorded."""
        return frozenset(self._operations)

    def ask(self, operation: Op, arguments: tuple[object, ...]) -> Any:
        """The recorded answer.

        Raises:
            Inexpressible: this was not asked.
            Refused, Accident: the target raised an error.
        """
        key, floats = _split((operation, arguments))
        for answers in self._questions.get(key, []):
            if all(
                np.allclose(one, other, rtol=0, atol=ROUNDING, equal_nan=True)
                for one, other in zip(answers.floats, floats, strict=True)
            ):
                result, error = answers.results[min(answers.given, len(answers.results) - 1)]
                answers.given += 1
                self._asked.append(answers)
                if error is not None:
                    raise (Refused if error.kind is Kind.REFUSED else Accident)(error.message)
                return result
        raise Inexpressible(f"this call of {operation.value} was not recorded")

    def run(self, law: Law) -> Outcome:
        """Run a law on recorded inputs; it fails with the one of the fewest numbers that breaks it."""
        missing = law.needs - self.operations()
        if missing:
            return Outcome(Verdict.NOT_SUPPORTED, f"the recording has no {', '.join(sorted(missing))}")
        outcomes: list[tuple[Inputs, Outcome]] = []
        for inputs in self._inputs_for(law):
            self._begin()
            outcomes.append((inputs, law.replay(self, inputs)))
        judged = [(inputs, outcome) for inputs, outcome in outcomes if outcome.verdict is not Verdict.NOT_SUPPORTED]
        seconds = sum(outcome.seconds for _, outcome in outcomes)
        wrong = [(inputs, outcome) for inputs, outcome in judged if outcome.verdict is not Verdict.PASSED]
        if wrong:
            _, worst = min(wrong, key=lambda pair: len(str(pair[0])))
            return replace(worst, examples=len(judged), seconds=seconds)
        if not judged:
            why = outcomes[0][1].message if outcomes else "no law that draws its inputs alike was recorded"
            return Outcome(Verdict.NOT_SUPPORTED, why, seconds=seconds)
        activity = law.activity
        if activity and not any(activity.holds(**inputs) for inputs, _ in judged):
            return Outcome(Verdict.NOT_SUPPORTED, f"no recorded input has {activity.what}", seconds=seconds)
        return Outcome(Verdict.PASSED, examples=len(judged), seconds=seconds)

    def _begin(self) -> None:
        """Begin an example: every question is asked for the first time."""
        for answers in self._asked:
            answers.given = 0
        self._asked.clear()

    def _inputs_for(self, law: Law) -> Iterator[Inputs]:
        """Recorded inputs of the law itself; without any, those of all laws that draw alike. Each once."""
        keys = [law.key] if law.key in self._inputs else [key for key in self._inputs if self._alike(law, key)]
        seen: set[object] = set()
        for example in (example for key in keys for example in self._inputs[key]):
            inputs = {name: example[name] for name in law.strategies}
            mark = fingerprint(inputs)
            if mark not in seen:
                seen.add(mark)
                yield inputs

    def _alike(self, law: Law, key: str) -> bool:
        return draw_alike(law, self._laws[key])

    def _read(self, path: Path) -> None:
        stored, tensors = recordings.read(path)
        self.about = self.about or stored.about
        if stored.about != self.about:
            raise RecordingError(
                f"{path} is of another target or device than its neighbours: give each recording a folder of its own"
            )
        try:
            for call in stored.calls:
                self._learn(recordings.answered(call, tensors))
            if stored.law in self._laws:
                self._inputs[stored.law] = list(_inputs(self._laws[stored.law], stored, tensors))
        except (ValueError, TypeError, msgspec.ValidationError) as error:
            raise RecordingError(f"{path} is a damaged recording: {error}; record it anew") from error

    def _learn(self, call: recordings.Answered) -> None:
        self._operations.add(call.operation)
        key, floats = _split((call.operation, call.arguments))
        known = self._questions.setdefault(key, [])
        same = (
            old
            for old in known
            if all(np.array_equal(*pair, equal_nan=True) for pair in zip(old.floats, floats, strict=True))
        )
        answers = next(same, None)
        if answers is None:
            answers = _Answers(floats, [])
            known.append(answers)
        answer = (call.result, call.error)
        if all(fingerprint(answer) != fingerprint(old) for old in answers.results):
            answers.results.append(answer)


route(Recording, asking)


def draw_alike(law: Law, known: Law) -> bool:
    """Whether ``known`` draws what ``law`` draws, by the same names and perhaps more."""
    names = tuple(law.strategies)
    if not names or not set(names) <= set(known.strategies):
        return False
    return _first_draws(known, names) == _first_draws(law, names)


@cache
def _first_draws(law: Law, names: tuple[str, ...]) -> list[object]:
    """Some inputs of these names, from a seed that is the same for all laws."""
    profile = settings(max_examples=COMPARED, database=None, deadline=None)
    strategies = {name: law.strategies[name] for name in names}
    nameless = replace(law, id="recording", facet="", strategies=strategies)
    return [fingerprint(inputs) for inputs in nameless.draw(COMPARED, profile=profile)]


def _inputs(law: Law, stored: recordings.Stored, tensors: Mapping[str, Array]) -> Iterator[Inputs]:
    """The recorded inputs, where the law still has inputs of these names."""
    types = law.input_types()
    for example in stored.examples:
        if set(types) == set(example):
            yield {name: recordings.unpack(example[name], kind, tensors) for name, kind in types.items()}


def _split(value: object) -> tuple[object, list[Array]]:
    """A question as something to look it up by, without its floating arrays, and these."""
    floats: list[Array] = []

    def without(part: object) -> object:
        if isinstance(part, np.ndarray):
            array = cast("Array", part)
            if np.issubdtype(array.dtype, np.floating):
                floats.append(array)
                return (array.dtype.str, array.shape)
            return fingerprint(array)
        if is_dataclass(part) and not isinstance(part, type):
            return (type(part), *(without(getattr(part, field.name)) for field in fields(part)))
        if isinstance(part, Mapping):
            return tuple((name, without(item)) for name, item in cast("Mapping[object, object]", part).items())
        if isinstance(part, Sequence) and not isinstance(part, str | bytes):
            return tuple(without(item) for item in cast("Sequence[object]", part))
        return part

    return without(value), floats

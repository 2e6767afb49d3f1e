"""Records what a target answers when laws ask it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hypothesis import settings

from conformance import cases, recordings
from conformance.protocol import UNSPEAKABLE, Kind, Trouble
from conformance.recordings import Packer, Stored, StoredCall
from properties.claims import is_deliberate, show
from properties.law import Law
from properties.routing import asking, route
from reference_impl.errors import NotSupported
from reference_impl.interface import Implementation, Op


class Recorder(Implementation):
    """Passes every operation on to ``inner`` and keeps question and answer.

    Attributes:
        calls: what was asked and answered, in order.
    """

    def __init__(self, inner: Implementation, packer: Packer) -> None:
        self.inner = inner
        self.policies = inner.policies
        self.calls: list[StoredCall] = []
        self._packer = packer

    def operations(self) -> frozenset[Op]:
        """Operations of the recorded target that take and give nothing but data."""
        return self.inner.operations() - UNSPEAKABLE

    def ask(self, operation: Op, arguments: tuple[object, ...]) -> object:
        """Call the target; what is not supported is no answer and is not kept."""
        asked = [self._packer.pack(argument) for argument in arguments]
        try:
            result = getattr(self.inner, operation.value)(*arguments)
        except NotSupported:
            raise
        except Exception as error:
            kind = Kind.REFUSED if is_deliberate(error) else Kind.ACCIDENT
            trouble = Trouble(kind=kind, message=str(error) if kind is Kind.REFUSED else show(error))
            self.calls.append(StoredCall(operation=operation.value, arguments=asked, error=trouble))
            raise
        answer = self._packer.pack(result)
        self.calls.append(StoredCall(operation=operation.value, arguments=asked, result=answer))
        return result


route(Recorder, asking, set(Op) - UNSPEAKABLE)


def record(
    target: Implementation,
    laws: Iterable[Law],
    folder: Path,
    about: Mapping[str, str],
    profile: settings,
    *,
    run_seed: int = 0,
) -> list[Path]:
    """Run laws on a target and write down what it answered, whether the laws hold or not.

    Args:
        target: what is recorded.
        laws: whose inputs it is asked; those that need more than it offers are left out.
        folder: gets one file per law of which an input can be put to the target.
        about: what the target is and where it runs, see ``recordings.Stored``.
        profile: Hypothesis settings, which say how many inputs are drawn.
        run_seed: shifts the draws.

    Returns:
        The files.

    Raises:
        RecordingError: safetensors is missing, or a file cannot be written.
    """
    written: list[Path] = []
    for law in laws:
        packer = Packer()
        recorder = Recorder(target, packer)
        if not law.strategies or law.needs - recorder.operations():
            continue
        examples: list[dict[str, Any]] = []
        for inputs in law.draw(profile.max_examples, profile=profile, run_seed=run_seed):
            before = len(recorder.calls)
            law.replay(recorder, inputs)
            if len(recorder.calls) > before:
                examples.append(packer.pack(dict(inputs)))
        if examples:
            stored = Stored(about=dict(about), law=law.key, calls=recorder.calls, examples=examples)
            path = folder / f"{cases.slug(law.key)}{recordings.SUFFIX}"
            recordings.write(path, stored, packer.tensors)
            written.append(path)
    return written

"""How far kernels are from the reference, night by night: what drifts is within its tolerance and still news.

    python -m gpu_tests.history RECORDS HISTORY.jsonl

appends one line per record of ``gpu_tests.records`` and says which figures left the range of earlier nights on the
same model of GPU. Exit code 1 if any did.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from statistics import median

import msgspec
import torch

from gpu_tests import oracle
from gpu_tests.levels import noise_floor
from gpu_tests.records import Record, read
from gpu_tests.tolerances import DRIFT_FLOOR, DRIFT_MULTIPLE
from properties.segments import is_padding

FEWEST_NIGHTS = 3
"""Earlier nights that a range takes."""


class HistoryError(Exception):
    """A history that cannot be read; one sentence."""


class Figure(msgspec.Struct, frozen=True):
    """One result of one case.

    Attributes:
        error: largest distance from the reference in float64, at tokens.
        floor: the same of the reference in the dtype of the case, on the machine that judges.
    """

    error: float
    floor: float


class Night(msgspec.Struct, frozen=True, kw_only=True):
    """One record.

    Attributes:
        date: UTC, when the figures were taken.
        device: model of the GPU, or architecture of the CPU.
        kernel, case: what was computed.
        torch: its release.
        figures: by name of the result.
    """

    date: str
    device: str
    kernel: str
    case: str
    torch: str
    figures: dict[str, Figure]

    @property
    def key(self) -> tuple[str, str, str]:
        """Nights of one key form a history."""
        return self.device, self.kernel, self.case


def measure(record: Record, date: str) -> Night:
    """The figures of a record."""
    exact = oracle.attend(record.streams.to(torch.float64), record.layout, causal=record.causal)
    plain = oracle.attend(record.streams, record.layout, causal=record.causal)
    tokens = ~torch.from_numpy(is_padding(record.layout))
    figures = {
        name: Figure(_distance(record.results[name][tokens], expected[tokens]), noise_floor(plain[name], expected))
        for name, expected in exact.items()
    }
    about = record.about
    return Night(
        date=date, device=about["device"], kernel=about["kernel"], case=about["case"], torch=about["torch"],
        figures=figures,
    )  # fmt: skip


def _distance(got: torch.Tensor, expected: torch.Tensor) -> float:
    return (got.double() - expected).abs().max().item() if expected.numel() else 0.0


def append(path: Path, nights: Iterable[Night]) -> None:
    """Write figures behind those of earlier nights."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(b"".join(msgspec.json.encode(night) + b"\n" for night in nights))


def history(path: Path) -> list[Night]:
    """All nights of a file, in its order; none of a file that is not there yet.

    Raises:
        HistoryError: a line is no night.
    """
    lines = path.read_bytes().splitlines() if path.exists() else []
    nights: list[Night] = []
    for number, line in enumerate(lines, start=1):
        try:
            nights.append(msgspec.json.decode(line, type=Night))
        except msgspec.MsgspecError as error:
            raise HistoryError(f"line {number} of {path} is no night: {error}; remove it") from error
    return nights


def drifted(earlier: Iterable[Night], now: Iterable[Night]) -> Iterator[str]:
    """A sentence for every figure that left the range of earlier nights by more than ``DRIFT_MULTIPLE`` times it."""
    known: dict[tuple[str, str, str], list[Mapping[str, Figure]]] = {}
    for night in earlier:
        known.setdefault(night.key, []).append(night.figures)
    for night in now:
        for name, figure in night.figures.items():
            errors = [figures[name].error for figures in known.get(night.key, ()) if name in figures]
            if len(errors) < FEWEST_NIGHTS:
                continue
            spread = max(max(errors) - min(errors), DRIFT_FLOOR.value * figure.floor)
            usual = median(errors)
            if abs(figure.error - usual) > DRIFT_MULTIPLE.value * spread:
                yield (
                    f"{name} of {night.kernel} on {night.case}, {night.device}, torch {night.torch}: error"
                    f" {figure.error:.3g}, usually {usual:.3g} within {spread:.2g} over {len(errors)} nights"
                )


def main(records: Path, path: Path) -> int:
    """Append the figures of a folder of records; the number of sentences said, at most 1."""
    date = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    earlier = history(path)
    now = [measure(read(each), date) for each in sorted(records.glob("*.safetensors"))]
    append(path, now)
    news = list(drifted(earlier, now))
    sys.stdout.write("".join(f"{line}\n" for line in [*news, f"{len(now)} records, {len(news)} figures drifted"]))
    return min(len(news), 1)


if __name__ == "__main__":
    try:
        sys.exit(main(*map(Path, sys.argv[1:3])))
    except (HistoryError, ValueError) as problem:
        sys.exit(f"history: {problem}")

"""One function over many arguments, on all cores."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from types import TracebackType
from typing import Any, Self

Progress = Callable[[str, int, int], None]
"""Told what is being done, how much of it is over, and how much there is."""


def silent(what: str, done: int, total: int) -> None:
    """Progress that nobody watches."""


class Workers:
    """Worker processes that stay between calls, so that what they have loaded and drawn is used again.

    Args:
        jobs: processes; with one, everything runs in this process.
        progress: told of every result.
    """

    def __init__(self, jobs: int, progress: Progress = silent) -> None:
        self._progress = progress
        self._pool: ProcessPoolExecutor | None = None
        # Spawned, not forked: a fork copies locks of NumPy's and PyArrow's threads in whatever state they are.
        if jobs > 1:
            self._pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _one_thread)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool:
            self._pool.shutdown(cancel_futures=True)

    def map[T](self, what: str, function: Callable[..., T], arguments: Sequence[tuple[Any, ...]]) -> list[T]:
        """Results of ``function`` for every argument tuple, in order; both must be picklable."""
        if not arguments:
            return []
        running = (self._pool.map if self._pool else map)(function, *zip(*arguments, strict=True))
        results: list[T] = []
        for result in running:
            results.append(result)
            self._progress(what, len(results), len(arguments))
        return results


def _one_thread() -> None:
    """Runs in every worker before torch is imported: workers with all threads each are slower than with one."""
    os.environ["OMP_NUM_THREADS"] = "1"

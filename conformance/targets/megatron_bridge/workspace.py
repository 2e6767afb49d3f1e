"""Files that a measurement needs for a moment."""

from __future__ import annotations

import functools
import hashlib
import itertools
import shutil
import tempfile
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from reference_impl.documents import PackedRow

KEPT = 16
"""Packed files kept for rows that come again: an example opens the same rows a few times."""


class Workspace:
    """A temporary folder, in memory where the machine offers that; made on first use, removed with the object."""

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._packed: OrderedDict[bytes, Path] = OrderedDict()

    @functools.cached_property
    def folder(self) -> Path:
        """The folder itself, for files that every call writes anew."""
        memory = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it
        folder = tempfile.mkdtemp(prefix="packproof-", dir=memory if memory.is_dir() else None)
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return Path(folder)

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """An empty folder for one call."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            yield Path(folder)

    def packed_file(
        self, rows: Sequence[PackedRow], suffix: str, write: Callable[[Sequence[PackedRow], Path], None]
    ) -> Path:
        """A packed file of ``rows``, written when these rows were not seen lately."""
        key = _fingerprint(rows, suffix)
        if key in self._packed:
            self._packed.move_to_end(key)
            return self._packed[key]
        path = self.folder / f"{next(self._numbers)}{suffix}"
        write(rows, path)
        self._packed[key] = path
        if len(self._packed) > KEPT:
            self._packed.popitem(last=False)[1].unlink(missing_ok=True)
        return path


def _fingerprint(rows: Sequence[PackedRow], suffix: str) -> bytes:
    digest = hashlib.blake2b(suffix.encode())
    for row in rows:
        for array in (row.tokens, row.loss_mask, row.starts):
            digest.update(f"{array.dtype}{array.shape}".encode())
            digest.update(array.tobytes())
    return digest.digest()

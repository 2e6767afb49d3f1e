"""The files of a whole preparation, replaced as one."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from reference_impl.documents import PackingMetadata
from reference_impl.interface import PreparedFiles
from reference_impl.rows_io import write_atomically


def replace_prepared(
    folder: Path, suffix: str, metadata: PackingMetadata, write: Callable[[Path], None]
) -> PreparedFiles:
    """Write rows and metadata under ``folder``, which is made if need be; files of an earlier run are replaced.

    Args:
        folder: where the files go.
        suffix: format of the rows.
        metadata: statistics of the rows.
        write: writes the rows to a path.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rows, statistics = folder / f"packed{suffix}", folder / "metadata.json"
    # Without its old metadata a folder is incomplete, which shows; with it, new rows would be misread.
    statistics.unlink(missing_ok=True)
    write(rows)
    entries = json.dumps([asdict(metadata)]).encode()
    write_atomically(statistics, lambda file: file.write(entries))
    return PreparedFiles(rows, (metadata,))

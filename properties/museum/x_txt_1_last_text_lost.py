"""X-TXT-1: the last record of a text file is lost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from properties.museum.bug import bug
from reference_impl.documents import PackSpec
from reference_impl.interface import PreparedFiles, Record, Tokenizer
from reference_impl.reference import ReferenceImplementation


@bug("X-TXT-1", area="offline pack", suffered="the last record of a file is never trained on", source="own mutation")
class LastTextLost(ReferenceImplementation):
    """A reader stops at the last newline, and the record after it is lost."""

    def prepare_text(
        self, records: Sequence[Record], tokenizer: Tokenizer, spec: PackSpec, folder: Path, suffix: str
    ) -> PreparedFiles:
        return super().prepare_text(records[:-1], tokenizer, spec, folder, suffix)

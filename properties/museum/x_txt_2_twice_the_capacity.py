"""X-TXT-2: the pack size counts bytes of two per token, so that packs are twice as long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from properties.museum.bug import bug
from reference_impl.documents import PackSpec
from reference_impl.interface import PreparedFiles, Record, Tokenizer
from reference_impl.reference import ReferenceImplementation


@bug("X-TXT-2", area="offline pack", suffered="rows are wider than the buffers of a step", source="own mutation")
class TwiceTheCapacity(ReferenceImplementation):
    """The capacity is taken in another unit than the lengths, and packs hold twice what they may."""

    def prepare_text(
        self, records: Sequence[Record], tokenizer: Tokenizer, spec: PackSpec, folder: Path, suffix: str
    ) -> PreparedFiles:
        return super().prepare_text(records, tokenizer, replace(spec, capacity=2 * spec.capacity), folder, suffix)

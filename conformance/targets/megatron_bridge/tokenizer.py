"""What Bridge's packing asks of a tokenizer, once the text is tokens already."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TokenIds:
    """Special tokens.

    Attributes:
        eos_id: end of sequence, which also fills the tail of a row.
        eod: end of document, which pads documents.
    """

    eos_id: int
    eod: int

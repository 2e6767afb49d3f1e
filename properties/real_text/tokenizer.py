"""A real tokenizer: Mistral's Tekken vocabulary of 131072 tokens, which mistral-common ships."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from pathlib import Path
from typing import Any

VOCABULARY = "tekken_240718.json"


class MistralTokenizer:
    """The part of a Megatron tokenizer that preparation of text calls.

    Attributes:
        legacy: tells Bridge to call ``text_to_ids``.
        eos_id: end of sequence.
        eod: end of document, the same token.
        bos_id: beginning of sequence.
    """

    legacy = True

    def __init__(self, tekkenizer: Any) -> None:
        self._tekkenizer = tekkenizer
        self.eos_id: int = tekkenizer.eos_id
        self.eod: int = tekkenizer.eos_id
        self.bos_id: int = tekkenizer.bos_id

    def text_to_ids(self, text: str) -> list[int]:
        """Tokens of a text, without special ones."""
        return list(self._tekkenizer.encode(text, bos=False, eos=False))


@functools.cache
def mistral_tokenizer() -> MistralTokenizer | None:
    """The tokenizer, None where mistral-common is not installed."""
    package = importlib.util.find_spec("mistral_common")
    if package is None or package.origin is None:
        return None
    tekken: Any = importlib.import_module("mistral_common.tokens.tokenizers.tekken")
    return MistralTokenizer(tekken.Tekkenizer.from_file(Path(package.origin).parent / "data" / VOCABULARY))

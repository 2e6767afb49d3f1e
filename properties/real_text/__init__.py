"""Real text and a real tokenizer, from packages that ship them."""

from __future__ import annotations

from properties.real_text.text import records
from properties.real_text.tokenizer import mistral_tokenizer

__all__ = ["mistral_tokenizer", "records"]

"""Preparation of text with nothing replaced: JSONL in, a packed file out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from conformance.targets.megatron_bridge import offline
from conformance.targets.megatron_bridge.rows import PARQUET, has_parquet
from reference_impl.documents import PackSpec
from reference_impl.errors import Inexpressible
from reference_impl.interface import PreparedFiles, Record, Tokenizer


class _MegatronTokenizer:
    """A tokenizer in the form that Bridge expects.

    Attributes:
        legacy: tells Bridge to call ``text_to_ids``.
        eos_id: end of sequence.
        eod: end of document.
    """

    legacy = True

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.eos_id = tokenizer.eos_id
        self.eod = tokenizer.eod
        self.text_to_ids = tokenizer.text_to_ids


def prepare_text(
    records: Sequence[Record], tokenizer: Tokenizer, spec: PackSpec, folder: Path, suffix: str
) -> PreparedFiles:
    """Prepare a file of records, which Bridge tokenises and truncates itself."""
    if suffix.endswith(PARQUET) and not has_parquet():
        raise Inexpressible("this release of Megatron Bridge packs into NumPy's format only")
    folder.mkdir(parents=True, exist_ok=True)
    text = folder / "training.jsonl"
    text.write_text("".join(json.dumps(dict(record)) + "\n" for record in records), encoding="utf-8")
    return offline.prepare_text(text, _MegatronTokenizer(tokenizer), spec, folder, suffix)

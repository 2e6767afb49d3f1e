"""Preparation of text with nothing replaced: JSONL in, a packed file out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from conformance.targets.megatron_bridge import offline
from reference_impl.documents import PackSpec
from reference_impl.interface import PreparedFiles


def prepare_text(
    records: Sequence[Mapping[str, str]], tokenizer: object, spec: PackSpec, folder: Path, suffix: str
) -> PreparedFiles:
    """``prepare_packed_sequence_data`` on records of ``input`` and ``output``; pad and EOS ids are the tokenizer's."""
    text = folder / "training.jsonl"
    text.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return offline.run(text, tokenizer, spec, folder, suffix, memmap_workers=1)

"""The claims on real text hold for the reference, and find a target that loses a document."""

import importlib.util
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.real_text.text import LONGEST, SHORTEST, records
from conformance.real_text.tokenizer import mistral_tokenizer
from reference_impl.documents import Document, PackSpec
from reference_impl.interface import PreparedFiles
from reference_impl.reference import ReferenceImplementation

HERE = Path(__file__).parent


class ReferenceWithText(ReferenceImplementation):
    """The reference, given a preparation of text."""

    def prepare_text(
        self, texts: Sequence[Mapping[str, str]], tokenizer: Any, spec: PackSpec, folder: Path, _suffix: str
    ) -> PreparedFiles:
        """Tokenise and prepare."""
        documents = []
        for text in texts:
            prompt, answer = tokenizer.text_to_ids(text["input"]), tokenizer.text_to_ids(text["output"])
            tokens = np.array([*prompt, *answer, tokenizer.eos_id], dtype=np.int64)
            documents.append(Document(tokens, answer_start=len(prompt)))
        return self.prepare(documents, spec, folder)


class LosesADocument(ReferenceWithText):
    """Packs all texts but the last."""

    def prepare_text(self, texts: Any, *arguments: Any) -> PreparedFiles:
        """Forget one."""
        return super().prepare_text(texts[:-1], *arguments)


def test_there_is_text_of_many_lengths() -> None:
    words = [len((record["input"] + " " + record["output"]).split()) for record in records()]
    assert len(words) >= 50
    assert min(words) >= SHORTEST
    assert max(words) <= LONGEST
    assert len(set(words)) > 20


def test_the_tokenizer_is_a_real_one() -> None:
    tokenizer = mistral_tokenizer()
    if tokenizer is None:
        pytest.skip("mistral-common is not installed")
    tokens = tokenizer.text_to_ids("Packing, documents!")
    assert len(tokens) < len("Packing, documents!")
    assert tokenizer.eos_id not in tokens


@pytest.mark.skipif(importlib.util.find_spec("mistral_common") is None, reason="mistral-common is not installed")
@pytest.mark.parametrize(
    ("target", "counts"),
    [
        ("module:test_real_text:ReferenceWithText", "60 passed"),
        ("module:test_real_text:LosesADocument", "failed"),
        ("reference", "60 skipped"),
    ],
)
def test_the_claims_tell_sound_targets_from_broken_ones(target: str, counts: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", "--rootdir", str(HERE), "-p"]
    command += [
        "conformance.plugin",
        "-p",
        "no:cacheprovider",
        "--target",
        target,
        "--pyargs",
        "conformance.real_text",
    ]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
    assert counts in done.stdout.splitlines()[-1], done.stdout

"""The same packs in any process, whatever the ambient random state, the hash seed or the number of threads."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from reference_impl.documents import Algorithm

PROGRAM = """
import hashlib, random, sys, tempfile
from pathlib import Path
import numpy as np
from reference_impl import fast_offline
from reference_impl.documents import Algorithm, Document, PackSpec
from reference_impl.reference import ReferenceImplementation

random.seed({ambient}); np.random.seed({ambient})
lengths = np.random.RandomState(5).randint(1, 60, size=200)
documents = [Document(np.arange(n + 1) + 100 * i, answer_start=int(n) // 2) for i, n in enumerate(lengths)]
spec = PackSpec(capacity=64, algorithm=Algorithm("{algorithm}"), pad_multiple=4, seed=11)
reference = ReferenceImplementation()
digest = hashlib.sha256()
with tempfile.TemporaryDirectory() as folder:
    for prepare in (reference.prepare, fast_offline.prepare):
        digest.update(prepare(documents, spec, Path(folder)).rows.read_bytes())
digest.update(repr(reference.pack_documents(documents, spec).ledger).encode())
digest.update(reference.epoch_order(9, 40, 3).tobytes())
print(digest.hexdigest())
"""


def packs_of(algorithm: Algorithm, ambient: int, **environment: str) -> str:
    """Digest of files, ledger and epoch order, made in a process of its own."""
    program = PROGRAM.format(algorithm=algorithm.value, ambient=ambient)
    done = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | environment, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.parametrize("algorithm", [Algorithm.FIRST_FIT_SHUFFLE, Algorithm.LONGEST_PACK_FIRST])
def test_packs_are_the_same_in_any_process(algorithm: Algorithm) -> None:
    """Two processes that have nothing in common but the arguments leave the same bytes."""
    first = packs_of(algorithm, 1, PYTHONHASHSEED="0", OMP_NUM_THREADS="1")
    second = packs_of(algorithm, 2, PYTHONHASHSEED="12345", OMP_NUM_THREADS="2", LC_ALL="C", TZ="Asia/Tokyo")
    assert first == second
    assert len(first.strip()) == 64

"""Documents from text: the tokens of input and output, then EOS.

input "2 + 3 ="   output "5"
tokens       2  +  3  =  5  EOS
answer_start             4            output and EOS are trainable targets
"""

from __future__ import annotations

import numpy as np

from reference_impl.documents import Document
from reference_impl.errors import PackingError
from reference_impl.interface import Record, Tokenizer


def document_of(record: Record, tokenizer: Tokenizer) -> Document:
    """Tokenise one record.

    Raises:
        PackingError: the record lacks its input or its output.
    """
    missing = {"input", "output"} - set(record)
    if missing:
        raise PackingError("record", dict(record), f"must have {' and '.join(sorted(missing))}")
    prompt, answer = tokenizer.text_to_ids(record["input"]), tokenizer.text_to_ids(record["output"])
    return Document(np.array([*prompt, *answer, tokenizer.eos_id], dtype=np.int64), answer_start=len(prompt))

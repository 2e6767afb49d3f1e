"""One document before it is packed: its lengths, its trainable targets, its padding.

Source: Megatron Bridge ``data/datasets/packed_sequence.py``, with the padding rule of its PR #4598.
"""

from __future__ import annotations

import numpy as np

from reference_impl.documents import BoolArray, Document
from reference_impl.errors import PackingError

NO_TOKEN = -1
"""Runtime length of a document without a single token."""


def runtime_length(document: Document) -> int:
    """Slots that a document fills: one less than its stored tokens, and ``NO_TOKEN`` when it has none."""
    return int(document.tokens.size) - 1


def real_length(document: Document) -> int:
    """Stored tokens of a document that are not alignment padding.

    Raises:
        PackingError: ``valid`` is not from 0 to the number of tokens.
    """
    if document.valid is None:
        return int(document.tokens.size)
    if not 0 <= document.valid <= document.tokens.size:
        raise PackingError("valid", document.valid, f"must be from 0 to the {document.tokens.size} tokens")
    return document.valid


def trainable(document: Document) -> BoolArray | None:
    """True where a stored token is a trainable target (L,); padding never is. None when the document does not say.

    Raises:
        PackingError: the loss mask has another length than the tokens, or ``answer_start`` is negative.
    """
    check_document(document)
    stored = np.arange(document.tokens.size)
    if document.loss_mask is not None:
        mask = document.loss_mask.astype(np.bool_)
    elif document.answer_start is not None:
        mask = stored >= document.answer_start
    else:
        return None
    return mask & (stored < real_length(document))


def check_document(document: Document) -> None:
    """Raise if the loss mask has another length than the tokens, or ``answer_start`` is used and negative.

    Raises:
        PackingError: so it is.
    """
    if document.loss_mask is not None:
        if document.loss_mask.shape != document.tokens.shape:
            size = document.tokens.size
            raise PackingError("loss_mask", document.loss_mask.shape, f"must have {size} entries like tokens")
    elif document.answer_start is not None and document.answer_start < 0:
        raise PackingError("answer_start", document.answer_start, "must not be negative")


def length_limit(max_length: int, multiple: int | None) -> int:
    """Longest runtime length: the last multiple within ``max_length``.

    Raises:
        PackingError: no positive multiple fits into ``max_length``, or ``multiple`` is below 1.
    """
    step = 1 if multiple is None else multiple
    if step < 1:
        raise PackingError("multiple", multiple, "must be at least 1, or None")
    if max_length < step:
        raise PackingError("max_length", max_length, f"must hold at least one multiple of {step}")
    return max_length // step * step


def pad_document(document: Document, max_length: int, multiple: int | None, pad_id: int) -> Document:
    """Pad the runtime length to the next multiple, or truncate it to the last one within ``max_length``.

        multiple 4, max_length 10      stored 5  -> 5       runtime 4 is a multiple already
                                       stored 6  -> 9       runtime 5 -> 8
                                       stored 11 -> 9       runtime 10 -> 8, the last that fits

    The rule counts runtime slots, not stored tokens (Megatron Bridge PR #4598).

    Returns:
        A document with ``valid`` set, and with an explicit loss mask if it had one in either form. One without a token
        becomes a single token of padding, which fills no slot.

    Raises:
        PackingError: no positive multiple fits into ``max_length``, ``multiple`` is below 1, or the document
            contradicts itself.
    """
    limit = length_limit(max_length, multiple)
    step = 1 if multiple is None else multiple
    length = max(runtime_length(document), 0)
    stored = min(-(-length // step) * step, limit) + 1
    tokens = np.full(stored, pad_id, dtype=np.int64)
    kept = min(stored, document.tokens.size)
    tokens[:kept] = document.tokens[:kept]
    mask = trainable(document)
    if mask is not None:
        mask = np.append(mask[:kept], np.zeros(stored - kept, dtype=np.bool_))
    return Document(tokens, mask, valid=min(real_length(document), stored))

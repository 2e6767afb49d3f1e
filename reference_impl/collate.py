"""Packed rows to batches.

One row with stored documents ``5 6 7 0`` and ``8 9 0``, EOS 0, width 8. Inside each document the input drops the last
token and the labels drop the first, so that no label crosses a border; the tail is one more segment:

    slot           0 1 2 | 3 4 | 5 6 7
    tokens         5 6 7 | 8 9 | 0 0 0
    labels         6 7 0 | 9 0 | 0 0 0
    loss_mask      1 1 1 | 1 1 | 0 0 0
    position_ids   0 1 2 | 0 1 | 0 0 0
    padded       0       3     5       8
    valid        0       3     5       5

Source: Megatron Bridge ``data/datasets/sft.py`` (``GPTSFTPackedDataset``). Valid lengths come from the row, never from
token values: a document may hold EOS, or the pad id, wherever it likes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from reference_impl.batches import AnyArray, CollateSpec, Layout, ThdBatch
from reference_impl.documents import IntArray, PackedRow
from reference_impl.errors import PackingError
from reference_impl.in_batch import raw_boundaries
from reference_impl.lengths import random_stream
from reference_impl.rows_io import check_row, stored_lengths
from reference_impl.thd import boundaries_of, padding_mask, position_ids

EpochOrder = Callable[[int, int, int], IntArray]
"""The operation ``epoch_order``: rows, samples, seed to rows of samples."""


def epoch_order(n_rows: int, n_samples: int, seed: int) -> IntArray:
    """Row of each of ``n_samples`` samples (n_samples,) int64: whole shuffled epochs, the last one cut.

    Every row is used once before any is used again. Each epoch is one shuffle of all rows, and all of them draw from
    the single stream ``RandomState(seed)``.

    Raises:
        PackingError: there are no rows, or ``n_samples`` is negative.
    """
    if n_rows < 1:
        raise PackingError("n_rows", n_rows, "must be at least 1")
    if n_samples < 0:
        raise PackingError("n_samples", n_samples, "must not be negative")
    stream = random_stream(seed)
    epochs = np.tile(np.arange(n_rows, dtype=np.int64), (-(-n_samples // n_rows), 1))
    for epoch in epochs:
        stream.shuffle(epoch)
    return epochs.reshape(-1)[:n_samples]


def collate(
    rows: Sequence[PackedRow],
    indices: Sequence[int],
    spec: CollateSpec,
    epoch_order: EpochOrder = epoch_order,
    position_ids: Callable[[Layout], IntArray] = position_ids,
) -> tuple[ThdBatch, ...]:
    """Open ``rows`` as a packed dataset and collate the samples ``indices`` into one batch each.

    What is trained: with ``answer_only_loss`` the slots that the stored mask names, otherwise every slot of a
    document, because each holds a real token whose successor in the document is known. Padding, of a document or of
    the row, is never trained, and a filler (negative index) trains nothing. A token that equals EOS is a token like
    any other, as an input and as a target (Megatron Bridge PR #5213).

    Args:
        rows: the packed file.
        indices: samples of the batch; a negative one is a filler.
        spec: settings.
        epoch_order: the operation of this name.
        position_ids: the operation of this name.

    Returns:
        One batch per index, all of one width. ``raw`` holds ``cu_seqlens`` (slots) and ``max_seqlen``, and with a
        document multiple above 1 ``cu_seqlens_unpadded``, all int32; static boundaries repeat their last entry.

    Raises:
        PackingError: a row contradicts itself or is wider than ``spec.width``, an index is too large, static
            boundaries lack metadata or ``pad_to_width``, or a row holds more documents than the metadata says.
    """
    _check_rows(rows, spec)
    n_samples = len(rows) if spec.n_samples is None else spec.n_samples
    row_of_sample = range(n_samples) if spec.n_samples is None else epoch_order(len(rows), n_samples, spec.seed)
    for index in indices:
        if index >= n_samples:
            raise PackingError("indices", index, f"must be below the {n_samples} samples")
    # A filler has no loss, so that any row will do.
    samples = [rows[int(row_of_sample[index])] if index >= 0 else rows[0] for index in indices]
    width = _common_width(samples, spec)
    batches: list[ThdBatch] = []
    for index, row in zip(indices, samples, strict=True):
        batch = _collate_row(row, width, spec, position_ids)
        if index < 0:
            batch = replace(batch, loss_mask=np.zeros(width))
        batches.append(replace(batch, raw=_raw(row, batch.layout, spec)))
    return tuple(batches)


def runtime_width(row: PackedRow) -> int:
    """Slots that a row fills: every document loses one of its stored tokens."""
    return int(row.tokens.size - row.starts.size)


def _check_rows(rows: Sequence[PackedRow], spec: CollateSpec) -> None:
    """Raise unless ``rows`` can be opened with ``spec``."""
    if not rows:
        raise PackingError("rows", rows, "must hold at least one row")
    for row in rows:
        check_row(row)
        if runtime_width(row) > spec.width:
            raise PackingError("rows", f"{runtime_width(row)} slots", f"must not be wider than {spec.width} slots")
    if spec.static_boundaries and not spec.metadata:
        raise PackingError("static_boundaries", spec.static_boundaries, "need the metadata of the packed file")
    if spec.static_boundaries and not spec.pad_to_width:
        raise PackingError("static_boundaries", spec.static_boundaries, "need pad_to_width")


def _common_width(samples: Sequence[PackedRow], spec: CollateSpec) -> int:
    """Slots of every batch of the call."""
    if spec.width_multiple < 1:
        raise PackingError("width_multiple", spec.width_multiple, "must be at least 1")
    if spec.pad_to_width:
        return spec.width
    longest = max((runtime_width(row) for row in samples), default=0)
    return min(spec.width, -(-longest // spec.width_multiple) * spec.width_multiple)


def _collate_row(
    row: PackedRow, width: int, spec: CollateSpec, position_ids: Callable[[Layout], IntArray]
) -> ThdBatch:
    """One row as a batch of ``width`` slots, without ``raw``."""
    stored = stored_lengths(row)
    valid = stored if row.valid is None else row.valid
    documents = Layout(valid=boundaries_of(np.maximum(valid - 1, 0)), padded=boundaries_of(stored - 1))
    tail = width - int(documents.padded[-1])
    layout = documents
    if tail > 0:
        layout = Layout(np.append(documents.valid, documents.valid[-1]), np.append(documents.padded, width))
    is_last = np.zeros(row.tokens.size, dtype=np.bool_)
    is_last[row.starts + stored - 1] = True
    inputs = np.flatnonzero(~is_last)
    trained = ~padding_mask(documents)
    if spec.answer_only_loss:
        trained &= row.loss_mask[inputs].astype(np.bool_)
    eos = np.full(tail, spec.eos_id, dtype=np.int64)
    return ThdBatch(
        tokens=np.append(row.tokens[inputs], eos),
        labels=np.append(row.tokens[inputs + 1], eos),
        loss_mask=np.append(trained.astype(np.float64), np.zeros(tail)),
        position_ids=np.append(position_ids(documents), np.zeros(tail, dtype=np.int64)),
        layout=layout,
        max_seqlen=int(np.diff(layout.padded).max()),
    )


def _raw(row: PackedRow, layout: Layout, spec: CollateSpec) -> dict[str, AnyArray]:
    """Boundaries as the batch carries them."""
    raw = raw_boundaries(layout, with_valid=(spec.document_multiple or 1) > 1)
    if not spec.static_boundaries:
        return raw
    n_entries = _static_entries(row, spec)
    names = [name for name in raw if name.startswith("cu_seqlens")]
    return raw | {name: np.pad(raw[name], (0, n_entries - raw[name].size), mode="edge") for name in names}


def _static_entries(row: PackedRow, spec: CollateSpec) -> int:
    """Entries of every boundary array: one per document of the fullest row, one for the tail, and the leading 0.

    Repeating the last entry adds zero-length segments, which change nothing (Megatron Bridge PR #5344).
    """
    most_documents = max(entry.max_samples_per_bin for entry in spec.metadata)
    if row.starts.size > most_documents:
        raise PackingError("metadata", most_documents, f"must allow for a row of {row.starts.size} documents")
    return most_documents + 2

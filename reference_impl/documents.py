"""Documents, packed rows and the settings of offline packing.

A *stored* document has L tokens; at run time it fills L - 1 slots, because the input drops the last token and the
labels drop the first:

    stored     5  6  7  0          L = 4, the last token is EOS
    input      5  6  7             runtime length 3
    labels     6  7  0

Capacities, histograms and bins count runtime slots. ``PackedRow`` holds stored tokens.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

Bins = tuple[tuple[int, ...], ...]
"""Runtime lengths by bin, both in the order of placement."""


class Algorithm(StrEnum):
    """How lengths are assigned to bins."""

    FIRST_FIT = "first_fit"
    FIRST_FIT_DECREASING = "first_fit_decreasing"
    FIRST_FIT_SHUFFLE = "first_fit_shuffle"
    BEST_FIT_DECREASING = "best_fit_decreasing"
    SHORTEST_PACK_FIRST = "shortest_pack_first"
    LONGEST_PACK_FIRST = "longest_pack_first"


class Overlong(StrEnum):
    """What becomes of a document whose runtime length exceeds the limit."""

    TRUNCATE = "truncate"
    DROP = "drop"
    REJECT = "reject"
    SPLIT = "split"


@dataclass(frozen=True, eq=False)
class Document:
    """One tokenised sample.

    Attributes:
        tokens: (L,) int64, stored tokens, EOS included.
        loss_mask: (L,) bool, aligned with ``tokens``: True where the token itself is a trainable target.
        answer_start: index of the first answer token, the short form of ``loss_mask``; used when that is None.
            Tokens from ``answer_start`` to the end are trainable targets.
        valid: how many leading tokens are real, the rest being alignment padding; None means all of them.
    """

    tokens: IntArray
    loss_mask: BoolArray | None = None
    answer_start: int | None = None
    valid: int | None = None


@dataclass(frozen=True)
class PackSpec:
    """Settings of offline packing.

    Attributes:
        capacity: runtime slots of one pack (``packed_sequence_size``).
        algorithm: how lengths are assigned to bins.
        max_length: longest runtime length of one document; the ``overlong`` policy applies beyond
            ``min(max_length, capacity)``, rounded down to ``pad_multiple``.
        pad_multiple: every document's runtime length is padded to a multiple of this; None means 1.
        pad_id: token written into alignment padding.
        eos_id: end-of-sequence token of the tokenizer.
        seed: decides every random choice; nothing else does.
        overlong: what becomes of documents beyond the limit.
    """

    capacity: int
    algorithm: Algorithm = Algorithm.FIRST_FIT_SHUFFLE
    max_length: int = 2**31 - 1
    pad_multiple: int | None = 1
    pad_id: int = 0
    eos_id: int = 0
    seed: int = 0
    overlong: Overlong = Overlong.TRUNCATE


@dataclass(frozen=True, eq=False)
class PackedRow:
    """One pack as a packed file holds it.

    Attributes:
        tokens: (S,) int64, stored tokens of all documents, one after another.
        loss_mask: (S,) bool, aligned with *targets*: entry i says whether ``tokens[i + 1]`` is trained on when it
            follows ``tokens[i]`` in the same document. The last entry of every document is False.
        starts: (n,) int64, stored offset of each document; ``starts[0] == 0``.
        valid: (n,) int64, stored length of each document without its alignment padding; None when the file format
            does not hold it (Bridge's does not), which means that nothing is known to be padded.
    """

    tokens: IntArray
    loss_mask: BoolArray
    starts: IntArray
    valid: IntArray | None = None


@dataclass(frozen=True, eq=False)
class Histogram:
    """Document lengths, counted.

    Attributes:
        counts: (max_length + 1,) int64, number of documents of each runtime length.
        skipped: documents that have no entry: too long, or without a single token.
    """

    counts: IntArray
    skipped: int


@dataclass(frozen=True)
class PackingMetadata:
    """What a packed file's metadata says of it; lengths in runtime slots.

    Attributes:
        dataset_max_seqlen: longest document.
        max_samples_per_bin: most documents in one bin.
        packing_factor: documents per bin, rounded to 2 digits.
        packing_efficiency: mean load of a bin in percent of ``pack_size``, rounded to 2 digits.
        pack_size: the capacity.
        min_packed_seqlen: load of the emptiest bin.
    """

    dataset_max_seqlen: int
    max_samples_per_bin: int
    packing_factor: float
    packing_efficiency: float
    pack_size: int
    min_packed_seqlen: int


@dataclass(frozen=True)
class PackingStrategy:
    """Bins and what is known of them."""

    bins: Bins
    metadata: PackingMetadata


class Fate(StrEnum):
    """What became of one document."""

    KEPT = "kept"
    TRUNCATED = "truncated"
    DROPPED = "dropped"
    SPLIT = "split"


@dataclass(frozen=True)
class LedgerEntry:
    """What became of one document.

    Attributes:
        document: index of the document in the input.
        fate: kept whole, truncated, split or dropped.
        row: index of its row, None when dropped; of the first part when split.
        segment: index of its segment inside the row, None when dropped.
        padding: slots of alignment padding behind it, those of all parts together.
        rest: row and segment of the further parts of a split document, in order.
    """

    document: int
    fate: Fate
    row: int | None
    segment: int | None
    padding: int = 0
    rest: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, eq=False)
class PackedDataset:
    """Packed rows with their metadata.

    Attributes:
        rows: the packs.
        metadata: statistics that the target stores beside the rows, or None when it stores none.
        ledger: one entry per input document in input order, or None when the target keeps none.
    """

    rows: tuple[PackedRow, ...]
    metadata: PackingMetadata | None
    ledger: tuple[LedgerEntry, ...] | None = None

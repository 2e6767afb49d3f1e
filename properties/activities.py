"""What makes an example of the offline half interesting, by the inputs of its law.

Shares are well below what the strategies draw.
"""

from __future__ import annotations

from properties.law import Activity
from properties.readings import batch_width, lengths_of, load, stream_of
from reference_impl.batches import CollateSpec
from reference_impl.documents import Document, PackedRow, PackSpec

Documents = tuple[Document, ...]
Rows = tuple[PackedRow, ...]


def _three_documents(documents: Documents, **_: object) -> bool:
    return len(documents) > 2


def _more_than_a_pack(documents: Documents, spec: PackSpec, **_: object) -> bool:
    return int(lengths_of(documents).sum()) > spec.capacity


def _a_long_one(documents: Documents, spec: PackSpec, **_: object) -> bool:
    return max(lengths_of(documents)) > min(spec.max_length, spec.capacity)


def _eos_inside(documents: Documents, spec: PackSpec, **_: object) -> bool:
    return any(spec.eos_id in document.tokens[:-2] for document in documents)


def _eos_tail(documents: Documents, spec: PackSpec, **_: object) -> bool:
    return any(len(document.tokens) > 1 and document.tokens[-2] == spec.eos_id for document in documents)


def _pad_id_inside(documents: Documents, spec: PackSpec, **_: object) -> bool:
    return any(spec.pad_id in document.tokens[:-1] for document in documents)


def _needs_padding(documents: Documents, spec: PackSpec, **_: object) -> bool:
    return bool((lengths_of(documents) % (spec.pad_multiple or 1)).any())


SEVERAL = Activity("three or more documents", _three_documents, 0.15)
SEVERAL_PACKS = Activity("more documents than a pack holds", _more_than_a_pack, 0.15)
EOS_INSIDE = Activity("EOS between other tokens", _eos_inside, 0.25)
EOS_TAIL = Activity("several EOS at the end of a document", _eos_tail, 0.3)
PAD_ID_INSIDE = Activity("the pad id between other tokens", _pad_id_inside, 0.3)
NEEDS_PADDING = Activity("a document that is no multiple", _needs_padding, 0.8)
OVERLONG = Activity("an over-long document", _a_long_one, 0.9)


def _several_documents(rows: Rows, **_: object) -> bool:
    return max(len(row.starts) for row in rows) > 1


def _a_tail(rows: Rows, spec: CollateSpec, **_: object) -> bool:
    return min(load(row) for row in rows) < batch_width(rows, spec)


def _several_counts(rows: Rows, **_: object) -> bool:
    return len({len(row.starts) for row in rows}) > 1


def _some_padding(rows: Rows, **_: object) -> bool:
    return any((stream_of(row).valid < stream_of(row).lengths).any() for row in rows)


def _eos_trained_on(rows: Rows, spec: CollateSpec, **_: object) -> bool:
    return any((stream_of(row).weights & (stream_of(row).tokens == spec.eos_id)).any() for row in rows)


def _real_eos(rows: Rows, spec: CollateSpec, **_: object) -> bool:
    return any((stream_of(row).real & (stream_of(row).tokens == spec.eos_id)).any() for row in rows)


def _a_single_token(rows: Rows, **_: object) -> bool:
    return any((stream_of(row).lengths == 0).any() for row in rows)


SEVERAL_IN_A_ROW = Activity("two or more documents in a row", _several_documents, 0.4)
TAIL = Activity("a row that is narrower than its batch", _a_tail, 0.3)
RAGGED = Activity("rows with different numbers of documents", _several_counts, 0.25)
EOS_TRAINED_ON = Activity("EOS as an input that is trained on", _eos_trained_on, 0.25)
REAL_EOS = Activity("EOS as an input that is no padding", _real_eos, 0.4)
SINGLE_TOKEN = Activity("a document of a single token", _a_single_token, 0.2)
PADDING = Activity("a document with alignment padding", _some_padding, 0.4)

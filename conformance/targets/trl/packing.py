"""``trl.data_utils.pack_dataset``: documents to rows.

TRL counts stored tokens where this interface counts runtime slots. A document of L tokens fills L slots of a TRL row,
the last of which has no target, so that a row of ``capacity + 1`` stored tokens holds any document that fills
``capacity`` slots, and never more than ``capacity`` of them.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from reference_impl.documents import Algorithm, Bins, Document, IntArray, Overlong, PackedDataset, PackedRow, PackSpec
from reference_impl.errors import Inexpressible, NotSupported
from reference_impl.in_batch import IGNORED_LABEL
from reference_impl.one_document import trainable

ALGORITHMS = {"bfd": Algorithm.BEST_FIT_DECREASING, "ffd": Algorithm.FIRST_FIT_DECREASING}
"""TRL's names; up to 0.19 it says first fit decreasing."""

FIRST_FIT = {Algorithm.FIRST_FIT, Algorithm.FIRST_FIT_DECREASING, Algorithm.FIRST_FIT_SHUFFLE}
"""Laws draw these together and never with best fit, so that there is nothing to draw where none of them is offered."""

BATCH_SIZE = 3
"""Documents that are packed at a time: few, so that small inputs meet the borders that 1,000 documents meet."""


def data_utils() -> Any:
    """The module ``trl.data_utils``."""
    return importlib.import_module("trl.data_utils")


def strategy() -> str:
    """The name of the release's bin packing: the default of its packing function."""
    parameters = inspect.signature(data_utils().pack_dataset).parameters
    found = parameters["strategy"].default if "strategy" in parameters else None
    if found not in ALGORITHMS:
        raise NotSupported("this release of TRL packs without keeping documents whole")
    return str(found)


def can_split() -> bool:
    """Whether the release has a strategy that splits over-long documents."""
    try:
        _packed({"input_ids": [[1, 2, 3]]}, 2, f"{strategy()}_split")
    except (ValueError, NotSupported):
        return False
    return True


def assign_bins(lengths: IntArray, capacity: int, algorithm: Algorithm) -> Bins:
    """Lengths of the examples in each row; an example of n tokens stands for a length of n slots."""
    if algorithm in FIRST_FIT and ALGORITHMS[strategy()] not in FIRST_FIT:
        raise NotSupported(f"this TRL has no {algorithm.value}")
    _check_algorithm(algorithm)
    if (lengths < 0).any():
        raise NotSupported("no example has a negative number of tokens")
    if (lengths == 0).any():
        raise Inexpressible("TRL leaves examples without a token out before it packs")
    if 0 < capacity < int(lengths.max(initial=0)):
        raise NotSupported("TRL truncates over-long examples in the function that packs them")
    rows = _packed({"input_ids": [[0] * length for length in lengths.tolist()]}, capacity, strategy())
    return tuple(tuple(row["seq_lengths"]) for row in rows)


def pack_documents(documents: Sequence[Document], spec: PackSpec) -> PackedDataset:
    """Rows of documents whose labels are ignored where nothing is to be trained, as TRL's trainer prepares them."""
    if spec.pad_multiple not in {None, 1}:
        raise NotSupported("TRL pads no document for itself")
    if spec.max_length < spec.capacity:
        raise NotSupported("TRL allows documents as long as a row")
    _check_algorithm(spec.algorithm)
    overlong = any(len(document.tokens) - 1 > spec.capacity for document in documents)
    columns = {
        "input_ids": [document.tokens.tolist() for document in documents],
        "labels": [_labels(document).tolist() for document in documents],
    }
    wanted = _strategy_for(spec.overlong) if overlong else strategy()
    rows = _packed(columns, spec.capacity + 1, wanted, batch_size=BATCH_SIZE)
    return PackedDataset(tuple(_row(row) for row in rows), metadata=None, ledger=None)


def _check_algorithm(algorithm: Algorithm) -> None:
    if algorithm != ALGORITHMS[strategy()]:
        raise Inexpressible(f"this TRL has no {algorithm.value}")


def _strategy_for(overlong: Overlong) -> str:
    if overlong == Overlong.TRUNCATE:
        return strategy()
    if overlong == Overlong.SPLIT and can_split():
        return f"{strategy()}_split"
    raise NotSupported(f"this TRL cannot be asked to {overlong.value} over-long documents")


def _packed(columns: Mapping[str, Any], width: int, name: str, **map_kwargs: int) -> list[dict[str, Any]]:
    """Rows of a data set with these columns of token ids."""
    datasets = importlib.import_module("datasets")
    # Without types, a data set without a token has none.
    features = datasets.Features({column: datasets.Sequence(datasets.Value("int64")) for column in columns})
    packed = data_utils().pack_dataset(
        datasets.Dataset.from_dict(dict(columns), features=features), width, name, map_kwargs=map_kwargs
    )
    if len(packed) and "seq_lengths" not in packed.column_names:
        raise NotSupported("this release of TRL does not say how long the documents of a row are")
    return packed.to_list()


def _labels(document: Document) -> IntArray:
    wanted = trainable(document)
    return document.tokens if wanted is None else np.where(wanted, document.tokens, IGNORED_LABEL)


def _row(packed: Mapping[str, Any]) -> PackedRow:
    """A row as a packed file holds it: the mask of a label moves to the slot before it, inside its document."""
    lengths = np.array(packed["seq_lengths"], dtype=np.int64)
    starts = np.cumsum(lengths) - lengths
    trained = np.array(packed["labels"], dtype=np.int64) != IGNORED_LABEL
    trained[starts[lengths > 0]] = False
    tokens = np.array(packed["input_ids"], dtype=np.int64)
    return PackedRow(tokens, loss_mask=np.append(trained[1:], np.False_), starts=starts)

"""Boundaries that batches carry are read by their meaning, whatever their names."""

from __future__ import annotations

import numpy as np
import pytest

from properties.carried import carries_boundaries_of_32_bits, carries_its_longest_segment, carries_its_segments
from properties.claims import Broken
from reference_impl.batches import Layout, ThdBatch
from reference_impl.errors import NotSupported

SLOTS, VALID = [0, 4, 8], [0, 3, 8]


def _batch(**raw: object) -> ThdBatch:
    """Two segments of 4 slots, the first with 3 tokens, and what is carried beside them."""
    stream = np.arange(8)
    return ThdBatch(
        tokens=stream,
        labels=None,
        loss_mask=None,
        position_ids=stream % 4,
        layout=Layout(valid=np.array(VALID), padded=np.array(SLOTS)),
        max_seqlen=4,
        raw={name: np.array(value, dtype=np.int32) for name, value in raw.items()},
    )


@pytest.mark.parametrize(
    "raw",
    [
        {"cu_seqlens": SLOTS, "cu_seqlens_unpadded": VALID},
        {"cu_seqlens": [[*SLOTS, -1, -1]]},
        {"cu_seqlens": [*SLOTS, 8, 8]},
        {"cu_seqlens_q": VALID, "cu_seqlens_kv": VALID, "cu_seqlens_q_padded": SLOTS, "cu_seqlens_kv_padded": SLOTS},
        {"cu_seqlens": VALID, "cu_seqlens_padded": SLOTS},
    ],
)
def test_boundaries_under_every_name_are_accepted(raw: dict[str, object]) -> None:
    """Slots and valid lengths under the names of every trainer, with sentinels or repeated ends, are in order."""
    carries_its_segments(_batch(**raw))


@pytest.mark.parametrize(
    "raw",
    [
        {"cu_seqlens": VALID, "cu_seqlens_unpadded": VALID},
        {"cu_seqlens": SLOTS[:-1]},
        {"cu_seqlens": [*SLOTS, 9]},
        {"cu_seqlens": [*SLOTS, 8], "cu_seqlens_unpadded": VALID},
        {"cu_seqlens_q": VALID, "cu_seqlens_kv": SLOTS},
        {"cu_seqlens": SLOTS, "cu_seqlens_padded": SLOTS},
    ],
)
def test_boundaries_of_other_segments_are_told(raw: dict[str, object]) -> None:
    """Boundaries of another kind than their name says, too few of them, or other ones behind the end are wrong."""
    with pytest.raises(Broken):
        carries_its_segments(_batch(**raw))


@pytest.mark.parametrize(("name", "longest"), [("max_seqlen", 3), ("max_seqlen_q", 8), ("max_seqlen_kv", 0)])
def test_another_longest_segment_is_told(name: str, longest: int) -> None:
    """Every max_seqlen has to be the longest segment in slots."""
    carries_its_longest_segment(_batch(**{name: [4]}))
    with pytest.raises(Broken, match=name):
        carries_its_longest_segment(_batch(**{name: longest}))


@pytest.mark.parametrize("claim", [carries_its_segments, carries_its_longest_segment, carries_boundaries_of_32_bits])
def test_nothing_carried_is_not_supported(claim: object) -> None:
    """Of a batch that carries nothing, nothing is claimed."""
    assert callable(claim)
    with pytest.raises(NotSupported):
        claim(_batch())

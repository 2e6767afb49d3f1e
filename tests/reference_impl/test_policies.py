"""What an implementation declares, asks for and shows of its choices."""

from __future__ import annotations

import numpy as np
import pytest

from reference_impl.batches import PaddedBatch
from reference_impl.documents import Overlong
from reference_impl.errors import PackingError
from reference_impl.policies import Boundaries, EmptyRow, Order, PadPositions, PadTokens, Policies, Policy
from reference_impl.reference import ReferenceImplementation

OTHERS = [EmptyRow.REFUSED, Order.FREE, PadPositions.ZERO, PadTokens.ANYTHING, Boundaries.SLOTS]


@pytest.mark.parametrize("policy", OTHERS)
def test_declaring_changes_the_one_choice_that_is_asked_for(policy: Policy) -> None:
    """Every other choice stays as it was."""
    changed = Policies().declaring(policy)
    assert changed.declares(policy)
    assert [other for other in OTHERS if changed.declares(other)] == [policy]
    assert changed.overlong == Policies().overlong


@pytest.mark.parametrize("policy", [None, Overlong.SPLIT, EmptyRow.LEFT_OUT])
def test_declaring_what_is_declared_changes_nothing(policy: Policy | None) -> None:
    """None asks for nothing."""
    policies = Policies()
    assert policies.declaring(policy) is policies


def test_policies_are_shown_by_name() -> None:
    """Each with the text of its choice; those for over-long documents side by side."""
    assert Policies(overlong=(Overlong.TRUNCATE, Overlong.DROP), order=Order.FREE).to_text() == {
        "overlong": "truncate, drop",
        "empty_row": "left out",
        "order": "free",
        "pad_positions": "run on",
        "pad_tokens": "pad id",
        "boundaries": "slots and valid",
    }


class Refuses(ReferenceImplementation):
    """Declares to refuse empty rows."""

    policies = Policies(empty_row=EmptyRow.REFUSED)


def test_a_declared_refusal_names_the_empty_row() -> None:
    """Padding is not taken for content, and rows with content are packed as ever."""
    tokens = np.array([[5, 0], [0, 0], [0, 0]])
    batch = PaddedBatch(tokens, None, None, np.zeros_like(tokens))
    with pytest.raises(PackingError) as raised:
        Refuses().pack_in_batch(batch, 1, 0)
    assert (raised.value.argument, raised.value.value) == ("batch", 1)
    assert Refuses().pack_in_batch(batch, 1, 9).tokens.tolist() == [5, 0, 0, 0, 0, 0]

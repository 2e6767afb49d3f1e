"""Declared policies choose laws, and hold who declares them."""

from __future__ import annotations

import pytest

from properties.law import Verdict, catalogue
from properties.museum.s22_declared_refusal_not_kept import DeclaredRefusalNotKept
from reference_impl.documents import Overlong
from reference_impl.interface import Op
from reference_impl.policies import EmptyRow, Order, PadTokens, Policies
from reference_impl.reference import ReferenceImplementation

REFUSED = "INB-015[declared refused]"
LEFT_OUT = "INB-015"


class Refuses(ReferenceImplementation):
    """Declares to refuse empty rows, and does."""

    policies = Policies(empty_row=EmptyRow.REFUSED)


@pytest.mark.parametrize(
    ("implementation", "refused", "left_out"),
    [
        (ReferenceImplementation(), Verdict.NOT_SUPPORTED, Verdict.PASSED),
        (Refuses(), Verdict.PASSED, Verdict.NOT_SUPPORTED),
        (DeclaredRefusalNotKept(), Verdict.FAILED, Verdict.NOT_SUPPORTED),
    ],
    ids=["declares the other policy", "keeps the declaration", "breaks the declaration"],
)
def test_a_declared_policy_chooses_the_law(
    implementation: ReferenceImplementation, refused: Verdict, left_out: Verdict
) -> None:
    """A law of another policy is not supported; one of the declared policy is held against the target."""
    laws = catalogue()
    assert laws[REFUSED].run(implementation).verdict is refused
    assert laws[LEFT_OUT].run(implementation).verdict is left_out


def test_a_law_of_another_policy_says_which() -> None:
    """The message names the policy that is not declared."""
    outcome = catalogue()[LEFT_OUT].run(Refuses())
    assert outcome.message == "the target declares another policy than EmptyRow: left out"


def test_overlong_policies_are_offered_side_by_side() -> None:
    """What to do with over-long documents is asked for; an implementation may offer several answers."""
    policies = Policies(overlong=(Overlong.TRUNCATE, Overlong.DROP))
    assert policies.declares(Overlong.DROP)
    assert not policies.declares(Overlong.REJECT)


def test_policies_of_other_kinds_are_told_apart() -> None:
    """Each kind has one declared value."""
    policies = Policies(order=Order.FREE)
    assert not policies.declares(Order.KEPT)
    assert policies.declares(PadTokens.PAD_ID)


def test_every_policy_of_a_law_is_one_of_its_operations_concern() -> None:
    """Laws of a policy are few, and each needs an operation."""
    chosen = [law for law in catalogue().values() if law.policy is not None]
    assert len(chosen) >= 10
    assert all(law.needs & set(Op) for law in chosen)

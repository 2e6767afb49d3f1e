"""Choices that packing leaves open: each implementation declares its own, and is held to them.

A law that belongs to one choice is put to those implementations only that declare it. What is no choice, such as that
no token is lost, has no place here.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import StrEnum

from reference_impl.documents import Overlong


class EmptyRow(StrEnum):
    """What becomes of a row of a micro batch without a real token."""

    LEFT_OUT = "left out"
    REFUSED = "refused"


class Order(StrEnum):
    """Whether the documents of a micro batch stay in order."""

    KEPT = "kept"
    FREE = "free"


class PadPositions(StrEnum):
    """Positions of alignment padding."""

    RUN_ON = "run on"
    ZERO = "zero"


class PadTokens(StrEnum):
    """What alignment padding holds."""

    PAD_ID = "pad id"
    ANYTHING = "anything"


class Boundaries(StrEnum):
    """Which boundaries a batch with alignment padding carries."""

    SLOTS_AND_VALID = "slots and valid"
    SLOTS = "slots"


Policy = Overlong | EmptyRow | Order | PadPositions | PadTokens | Boundaries


@dataclass(frozen=True)
class Policies:
    """What an implementation does where it is free to choose; the defaults are those of the reference.

    Attributes:
        overlong: what it can be asked to do with over-long documents.
        empty_row: see ``EmptyRow``.
        order: see ``Order``.
        pad_positions: see ``PadPositions``.
        pad_tokens: see ``PadTokens``.
        boundaries: see ``Boundaries``.
    """

    overlong: tuple[Overlong, ...] = tuple(Overlong)
    empty_row: EmptyRow = EmptyRow.LEFT_OUT
    order: Order = Order.KEPT
    pad_positions: PadPositions = PadPositions.RUN_ON
    pad_tokens: PadTokens = PadTokens.PAD_ID
    boundaries: Boundaries = Boundaries.SLOTS_AND_VALID

    def declares(self, policy: Policy) -> bool:
        """Whether a policy is among the declared ones; members of different kinds may have the same text."""
        return any(type(policy) is type(own) and policy == own for own in (*self.overlong, *self._single()))

    def declaring(self, policy: Policy | None) -> Policies:
        """These policies, with another choice where ``policy`` is not among them; None asks for nothing."""
        if policy is None or self.declares(policy):
            return self
        name = next(field.name for field in fields(self) if type(getattr(self, field.name)) is type(policy))
        return replace(self, **{name: policy})

    def to_text(self) -> dict[str, str]:
        """Each policy by its name, for people."""
        plain = {field.name: str(getattr(self, field.name)) for field in fields(self)}
        return plain | {"overlong": ", ".join(self.overlong)}

    def _single(self) -> tuple[Policy, ...]:
        return (self.empty_row, self.order, self.pad_positions, self.pad_tokens, self.boundaries)

"""B27: long samples make empty packs."""

from __future__ import annotations

from properties.museum.bug import bug
from reference_impl.documents import IntArray
from reference_impl.reference import ReferenceImplementation


@bug(
    "B27",
    area="data-parallel balance",
    suffered="a replica got an empty pack, and another one exceeded its memory",
    source="Megatron-LM, read in its code",
)
class EmptyFirstPack(ReferenceImplementation):
    """A sample longer than a pack gets one of its own, and replicas without a sample get empty packs."""

    def balance(self, lengths: IntArray, limit: int, context: int, replicas: int) -> tuple[tuple[int, ...], ...]:
        longest = int(lengths.max(initial=1))
        if longest > limit * context:
            return ((), *super().balance(lengths, longest, 1, 1))
        packs = super().balance(lengths, limit, context, 1)
        if len(lengths) < replicas:
            return (*packs, *[()] * (-len(packs) % replicas))
        return super().balance(lengths, limit, context, replicas)

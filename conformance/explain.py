"""A law or a bug in words: what it is about, the smallest case that shows it, and what it is linked with."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from conformance.kill_matrix import GLANCE, Kill, Matrix, screen, surest
from conformance.smallest import smallest
from properties.law import Law, catalogue
from properties.museum import Bug, museum
from properties.museum.corpus import corpus

SEED = 0


class UnknownId(ValueError):
    """No law and no bug has this id."""


def explain(id: str) -> str:
    """What is known of a law (``COL-003``, ``COL-003[no EOS]``) or a bug (``MB-12``).

    The smallest case is found anew, by running the law on a bug that it catches.

    Raises:
        UnknownId: there is neither; the message names what is close.
    """
    laws = [law for law in catalogue().values() if id in {law.id, law.key}]
    if laws:
        return "\n\n".join("\n".join(_law(law)) for law in laws)
    bug = museum().get(id)
    if bug is None:
        raise UnknownId(_unknown(id))
    return "\n".join(_bug(bug))


def _unknown(id: str) -> str:
    names = [*dict.fromkeys(law.id for law in catalogue().values()), *museum(), *corpus().ids]
    outside = corpus().outside.get(id) or corpus().same.get(id)
    if outside:
        return f"{id} is in the bug corpus, but not in the museum: {outside}"
    near = difflib.get_close_matches(id.upper(), names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    return f"no law and no bug is called {id!r}: {hint}`packproof list laws` and `packproof list bugs` name them all"


def _law(law: Law) -> Iterator[str]:
    kills = screen(law.key, tuple(museum()), every=False, number=GLANCE, seed=SEED)
    caught = sorted((kill for kill in kills if kill.killed), key=surest)
    yield f"{law.key}: {law.claim}"
    yield from _field("claim", law.text)
    yield from _field("harm", law.harm)
    yield from _field("needs", ", ".join(sorted(law.needs)))
    yield from _field("sources", ", ".join(law.sources))
    if law.guards:
        yield from _field("guards", law.guards)
    yield from _picture(caught)
    yield from _linked("bugs it catches", [(kill.bug, museum()[kill.bug].source) for kill in caught])
    entries = {entry for kill in caught if (entry := corpus().entry_of(kill.bug))}
    yield from _field("corpus", ", ".join(sorted(entries)))


def _bug(bug: Bug) -> Iterator[str]:
    near = [law.key for law in catalogue().values() if law.needs & bug.overrides]
    caught = _caught(bug, near) or _caught(bug, [key for key in catalogue() if key not in near])
    yield f"{bug.id}: {bug.text}"
    yield from _field("area", bug.area)
    yield from _field("suffered", bug.suffered)
    yield from _field("source", bug.source)
    yield from _field("breaks", ", ".join(sorted(bug.overrides)))
    yield from _field("corpus", corpus().entry_of(bug.id) or "")
    yield from _picture(caught)
    yield from _linked("caught by", [(kill.law, catalogue()[kill.law].claim) for kill in caught])


def _caught(bug: Bug, keys: Sequence[str]) -> Sequence[Kill]:
    """Laws that catch a bug at a glance, the surest first."""
    kills = tuple(kill for key in keys for kill in screen(key, (bug.id,), every=False, number=GLANCE, seed=SEED))
    return Matrix((bug.id,), SEED, kills).killers(bug.id)


def _picture(caught: Sequence[Kill]) -> Iterator[str]:
    if not caught:
        yield from _field("smallest case", "none found at a glance")
        return
    found = smallest(caught[0].bug, caught[0].law, SEED)
    yield ""
    yield f"smallest case ({found.law} on {found.bug}):"
    yield from (f"  {line}".rstrip() for line in f"{found.message}\n\n{found.picture}".strip().splitlines())
    yield ""


def _field(name: str, text: str) -> Iterator[str]:
    if text:
        yield f"  {name:<9} {text}"


def _linked(title: str, entries: Sequence[tuple[str, str]]) -> Iterator[str]:
    if entries:
        yield f"  {title}:"
        width = max(len(name) for name, _ in entries)
        yield from (f"    {name:<{width}}  {what}" for name, what in entries)

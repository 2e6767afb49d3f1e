"""What each law adds: which bugs would survive without it, by the stored matrix."""

from __future__ import annotations

from collections import defaultdict

import msgspec

from conformance.kill_matrix import Matrix


class Redundancy(msgspec.Struct, frozen=True):
    """Laws removed in turn.

    Attributes:
        survivors: by law, the bugs that nothing else catches; only laws with any.
        never_alone: laws that catch bugs, each of which another law catches too.
        alike: groups of laws that catch exactly the same bugs.
    """

    survivors: dict[str, tuple[str, ...]]
    never_alone: tuple[str, ...]
    alike: tuple[tuple[str, ...], ...]


def redundancy(matrix: Matrix) -> Redundancy:
    """Remove each law in turn; nothing is run, the matrix is enough."""
    caught: defaultdict[str, set[str]] = defaultdict(set)
    by: defaultdict[str, set[str]] = defaultdict(set)
    for kill in matrix.kills:
        if kill.killed:
            caught[kill.law].add(kill.bug)
            by[kill.bug].add(kill.law)
    survivors = {law: tuple(sorted(bug for bug in bugs if by[bug] == {law})) for law, bugs in sorted(caught.items())}
    groups: defaultdict[frozenset[str], list[str]] = defaultdict(list)
    for law, bugs in sorted(caught.items()):
        groups[frozenset(bugs)].append(law)
    return Redundancy(
        survivors={law: bugs for law, bugs in survivors.items() if bugs},
        never_alone=tuple(law for law, bugs in survivors.items() if not bugs),
        alike=tuple(tuple(laws) for laws in groups.values() if len(laws) > 1),
    )

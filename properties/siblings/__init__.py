"""Siblings of the museum's bugs: the reference with one operator applied to one place of one operation.

The museum's bugs are the ones that happened; siblings are of the same kinds in every other place, so that the laws
are not fitted to the examples.
"""

from __future__ import annotations

from properties.siblings.catalogue import Sibling, siblings

__all__ = ["Sibling", "siblings"]

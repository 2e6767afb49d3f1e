"""Measures real software against the reference and the laws, and reports.

from conformance import check

def test_my_packer():
check(MyPacker())
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conformance.checking import check

__all__ = ["check"]


def __getattr__(name: str) -> Any:
    """Import ``check`` on first use: pytest loads this package in every run."""
    if name != "check":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib  # noqa: PLC0415

    return importlib.import_module("conformance.checking").check

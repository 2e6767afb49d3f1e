"""TRL, measured on a CPU through its packing function and its padding-free collator.

Nothing of TRL is re-implemented here: arguments are translated, its code is called, results are translated back. Its
strategy ``wrapped`` is not offered: it cuts the text of all documents at the width and keeps no border, so that no
operation of the interface has words for what it gives.
"""

from conformance.targets.trl.adapter import Trl

__all__ = ["Trl"]
"""``Trl``: the operations, each by the part of TRL that offers it."""

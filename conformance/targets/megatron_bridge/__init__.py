"""Megatron Bridge, measured through its own public functions and classes.

Nothing of Bridge is re-implemented here: arguments are translated, its code is called, results are translated back.
Its errors come out unchanged.
"""

from conformance.targets.megatron_bridge.adapter import MegatronBridge

__all__ = ["MegatronBridge"]

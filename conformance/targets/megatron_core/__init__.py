"""Megatron-Core, measured on a CPU through its own functions and classes; nothing of it is re-implemented here."""

from conformance.targets.megatron_core.adapter import MegatronCore

__all__ = ["MegatronCore"]

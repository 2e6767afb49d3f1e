"""TransformerEngine, measured on a CPU through the helpers of its context parallelism that are plain PyTorch.

Nothing of TransformerEngine is re-implemented here: arguments are translated, its code is called, results are
translated back.
"""

from conformance.targets.transformer_engine.adapter import TransformerEngine

__all__ = ["TransformerEngine"]

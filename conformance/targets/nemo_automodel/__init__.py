"""NeMo AutoModel, measured on a CPU through its packing, its THD collater and its THD boundaries.

Nothing of it is re-implemented here: arguments are translated, its code is called, results are translated back. Its
samples are in runtime form: inputs without a document's last token, labels without its first.
"""

from conformance.targets.nemo_automodel.adapter import NemoAutomodel

__all__ = ["NemoAutomodel"]
"""``NemoAutomodel``: the operations, each by the file that offers it."""

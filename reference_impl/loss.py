"""The loss of a training step, whatever micro batches and ranks its tokens came to.

With S the summed loss and N the trained tokens of each part, the objective is ``sum S / sum N``: every trained token
weighs the same, however packs were composed. The mean of the parts' own means ``S / N`` is another objective unless
all N agree: S = (10, 1), N = (1, 4) gives 5.125 instead of 2.2. Averaging gradients over the ranks *and* dividing by
the number of tokens divides twice.

Source: Megatron-Core ``calculate_per_token_loss``, which Megatron Bridge demands of fine-tuning with CP > 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reference_impl.errors import PackingError
from reference_impl.ranks import LossPart, ReducedLoss


def reduce_loss(parts: Sequence[LossPart]) -> ReducedLoss:
    """Mean loss per trained token over all parts, and the scale of each part's gradient.

    A slot of weight 0 does not matter, whatever its loss is. Without a trained token, loss and scales are 0.

    Raises:
        PackingError: there is no part, losses and weights of a part differ in shape, or a weight is not 0 or 1.
    """
    if not parts:
        raise PackingError("parts", parts, "must hold the losses of at least one micro batch")
    for number, part in enumerate(parts):
        if part.losses.shape != part.weights.shape:
            requirement = f"must have the shape of the losses, {part.losses.shape}"
            raise PackingError(f"parts[{number}].weights", part.weights.shape, requirement)
        if not np.isin(part.weights, (0, 1)).all():
            raise PackingError(f"parts[{number}].weights", part.weights.tolist(), "must be 0 or 1")
    tokens = int(sum(part.weights.sum() for part in parts))
    total = float(sum(part.losses[part.weights == 1].sum() for part in parts))
    scale = 1 / tokens if tokens else 0.0
    return ReducedLoss(loss=total * scale, tokens=tokens, scales=np.full(len(parts), scale))

"""What would spoil other runs' results unseen is refused where it happens."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from bnnbench.datasets.base import Split
from bnnbench.datasets.reading import cache
from bnnbench.methods.predictions.base import HasProbabilities

PROBABILITY_TOLERANCE = 1e-2
"""How far class probabilities may be from a sum of 1; half precision gets this far."""


@contextmanager
def unchanged(*splits: Split) -> Iterator[None]:
    """Raise ValueError if the block changes the splits, which other runs share.

    What sources keep in memory is then dropped, so that the next run reads the files anew.
    """
    tensors = [tensor for split in splits for tensor in (split.inputs, split.targets)]
    versions = [tensor._version for tensor in tensors]
    try:
        yield
    finally:
        if versions != [tensor._version for tensor in tensors]:
            cache.forget()
            raise ValueError("the method changed the data it was given; it must work on a copy")


def check(prediction: object) -> None:
    """Raise ValueError for a negative variance, or class probabilities that do not sum to 1."""
    # Of a mixture, every component's variance.
    for name in ("variances", "variance"):
        variance = getattr(prediction, name, None)
        if variance is not None:
            if (variance < 0).any():
                raise ValueError("a predicted variance is negative")
            break
    if not isinstance(prediction, HasProbabilities):
        return
    log_sum = prediction.mixture_log_probs.logsumexp(1)
    if not torch.all(log_sum.abs() <= PROBABILITY_TOLERANCE):
        worst = float(log_sum[log_sum.abs().argmax()].exp())
        raise ValueError(
            f"predicted class probabilities sum to {worst:.4g}, not to 1: are these logits? "
            "CategoricalPredictive takes log probabilities, as log_softmax gives"
        )

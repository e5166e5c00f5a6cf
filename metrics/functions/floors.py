"""The error that remains when a prediction consists of a few exact draws."""

from collections.abc import Callable

import torch
from torch import Tensor

from bnnbench.metrics.functions.values import FunctionValues, Truth

Score = Callable[[FunctionValues, Truth], Tensor]
SUBSETS = 20


def floor(score: Score, truth: Truth, draws: int, subsets: int = SUBSETS) -> float:
    """Return the mean score of so many draws of the reference itself, taken with replacement.

    A method that gives as many draws cannot be expected to have less. Equal on every call.
    """
    rng = torch.Generator().manual_seed(draws)
    count = len(truth.functions.means)
    scores = [
        score(truth.functions.of(torch.randint(count, (draws,), generator=rng)), truth).mean()
        for _ in range(subsets)
    ]
    return float(torch.stack(scores).mean())


def halves(score: Score, truth: Truth) -> float:
    """Return the score of the reference's first half against its second, by draws in order.

    Differences below it are not resolved by the reference.
    """
    order = torch.arange(len(truth.functions.means))
    first, second = order.tensor_split(2)
    return float(score(truth.functions.of(first), truth.of(second)).mean())

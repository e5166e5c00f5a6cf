"""The error that remains if a prediction consists of a few exact draws."""

from collections.abc import Callable

import torch
from torch import Tensor

from bnnbench.metrics.functions.values import FunctionValues, Truth

Score = Callable[[FunctionValues, Truth], Tensor]
SUBSETS = 20


def floor(score: Score, truth: Truth, draws: int, subsets: int = SUBSETS) -> float:
    """Return the mean score of this many draws from the reference itself, taken with replacement.

    A method with as many draws cannot be expected to score lower. Equal on every call.
    """
    rng = torch.Generator().manual_seed(draws)
    count = len(truth.functions.means)
    scores = [
        score(truth.functions.of(torch.randint(count, (draws,), generator=rng)), truth).mean()
        for _ in range(subsets)
    ]
    return float(torch.stack(scores).mean())


def halves(score: Score, truth: Truth) -> float:
    """Return the score of the first half of the reference's draws against the second half.

    The reference does not resolve smaller differences.
    """
    order = torch.arange(len(truth.functions.means))
    first, second = order.tensor_split(2)
    return float(score(truth.functions.of(first), truth.of(second)).mean())

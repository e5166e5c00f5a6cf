"""Running moments of iterates, in memory that does not grow with their number."""

from collections import deque

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.checkpoints.parts import Attributes, Part


class Moments:
    """Mean and variance of the added iterates, and the last deviations from the running mean.

    A deviation is an iterate minus the mean of all iterates up to and including it.
    """

    def __init__(self, rank: int = 0) -> None:
        self.count = 0
        self._mean: Tensor | None = None
        self._squares: Tensor | None = None
        self._deviations: deque[Tensor] = deque(maxlen=rank)

    def add(self, weights: Float[Tensor, "members parameters"]) -> None:
        """Add an iterate."""
        self.count += 1
        if self._mean is None or self._squares is None:
            self._mean, self._squares = weights.clone(), torch.zeros_like(weights)
            deviation = torch.zeros_like(weights)
        else:
            # Welford: a difference of squares of nearly equal numbers would be mere rounding.
            change = weights - self._mean
            self._mean = self._mean + change / self.count
            deviation = weights - self._mean
            self._squares = self._squares + change * deviation
        self._deviations.append(deviation)

    @property
    def changing(self) -> Part:
        """The parts that `add` changes, for checkpoints."""
        return Attributes(self, "count", "_mean", "_squares", "_deviations")

    @property
    def mean(self) -> Float[Tensor, "members parameters"]:
        """The average of all iterates."""
        assert self._mean is not None
        return self._mean

    @property
    def variance(self) -> Float[Tensor, "members parameters"]:
        """The mean squared distance of the iterates from their average, per weight."""
        assert self._squares is not None
        return self._squares / self.count

    def deviations(self, member: int) -> Float[Tensor, "columns parameters"]:
        """Return the last deviations of a member, oldest first."""
        return torch.stack([deviation[member] for deviation in self._deviations])

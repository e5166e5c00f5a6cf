"""Noisy cubics whose true function is known."""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from bnnbench.datasets.generated.noisy_curve import NoisyCurve

TEST_ROWS = 121


class _NoisyCubic(NoisyCurve):
    """y = x³ + noise; subclasses define the range of x and the noise."""

    farthest: float
    """Half the width of the symmetric test grid."""

    @abstractmethod
    def inputs(self, rng: np.random.RandomState) -> np.ndarray:
        """Return training inputs."""
        ...

    def function(self, inputs: np.ndarray) -> np.ndarray:
        """Return the cubes."""
        return inputs**3

    def grid(self, train: np.ndarray) -> np.ndarray:
        """Return the symmetric grid, equal for all folds."""
        return np.linspace(-self.farthest, self.farthest, TEST_ROWS)


@dataclass(frozen=True)
class Cubic(_NoisyCubic):
    """20 inputs between -4 and 4 and noise of variance 9, tested between -6 and 6.

    Source: Hernández-Lobato and Adams (2015), "Probabilistic Backpropagation for Scalable
    Learning of Bayesian Neural Networks", section 5.3.
    """

    name = "cubic"
    noise_std = 3.0
    farthest = 6.0
    law = "x uniform on [-4, 4], y = x³ + N(0, 9)"

    def inputs(self, rng: np.random.RandomState) -> np.ndarray:
        """Return 20 inputs."""
        return rng.uniform(-4, 4, 20)


@dataclass(frozen=True)
class CubicGap(_NoisyCubic):
    """10 inputs in each of [-1, -0.5] and [0.5, 1], tested between -1.5 and 1.5.

    Source: seed paper 002, appendix C.1, which names neither the cubic nor its noise and may
    mean 10 inputs in all; the cubic x³, noise of standard deviation 0.1 and 20 inputs are ours.
    """

    name = "cubic_gap"
    noise_std = 0.1
    farthest = 1.5
    law = "|x| uniform on [0.5, 1], half of each sign, y = x³ + N(0, 0.01)"

    def inputs(self, rng: np.random.RandomState) -> np.ndarray:
        """Return 10 inputs left of the gap and 10 right of it."""
        return np.concatenate([rng.uniform(-1, -0.5, 10), rng.uniform(0.5, 1, 10)])

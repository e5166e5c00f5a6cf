r"""Noisy curves whose true function is known: cubics, and sums of two sines and a line.

The sums, to study network depth and coverage far from the data, are

$$ f(x) = 0.5 x + 0.2 \sin(2 \pi x) + 0.3 \sin(4 \pi x), \quad y = f(x) + N(0, 0.05^2). $$

Methods are given the noise, as in the source: paper 000, section 5.1; its draws are unknown.
Every fold has 200 training rows, 80 % of the paper's 250; the grid replaces the other 50. Rows are
standardised as in every source here, unlike in the paper.
"""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from bnnbench.datasets.generated.noisy_curve import NoisyCurve, even_grid

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


TRAIN_ROWS = 200
_LAW = "y = 0.5 x + 0.2 sin 2πx + 0.3 sin 4πx + N(0, 0.0025)"


class _NoisySine(NoisyCurve):
    """Subclasses define the range of x and the test grid."""

    noise_std = 0.05
    noise_is_known = True
    low: float
    high: float
    margin: float
    """Distance by which the test grid extends beyond the training inputs, on either side."""
    step: float

    def function(self, inputs: np.ndarray) -> np.ndarray:
        """Return the sum of the line and the sines."""
        angle = 2 * np.pi * inputs
        return 0.5 * inputs + 0.2 * np.sin(angle) + 0.3 * np.sin(2 * angle)

    def inputs(self, rng: np.random.RandomState) -> np.ndarray:
        """Return 200 inputs."""
        return rng.uniform(self.low, self.high, TRAIN_ROWS)

    def grid(self, train: np.ndarray) -> np.ndarray:
        """Return an even grid from `margin` below the inputs to `margin` above them."""
        return even_grid(train.min() - self.margin, train.max() + self.margin, self.step)


@dataclass(frozen=True)
class Sine(_NoisySine):
    """Inputs between 0 and 2, tested 1.5 beyond."""

    name = "sine"
    low, high = 0.0, 2.0
    margin, step = 1.5, 0.025
    law = f"x uniform on [0, 2), {_LAW}"


@dataclass(frozen=True)
class SineFar(_NoisySine):
    """Inputs between -0.5 and 0.5, tested 20 beyond.

    Source: paper 000, section 5.1 and appendix C.
    """

    name = "sine_far"
    low, high = -0.5, 0.5
    margin, step = 20.0, 0.05
    law = f"x uniform on [-0.5, 0.5), {_LAW}"

r"""Noisy sums of two sines and a line, to study network depth and coverage far from the data.

$$ f(x) = 0.5 x + 0.2 \sin(2 \pi x) + 0.3 \sin(4 \pi x), \quad y = f(x) + N(0, 0.05^2). $$

Methods are given the noise, as in the source: paper 000, section 5.1; its draws are unknown.
Every fold has 200 training rows, 80 % of the paper's 250; the grid replaces the other 50. Rows are
standardised as in every source here, unlike in the paper.
"""

from dataclasses import dataclass

import numpy as np

from bnnbench.datasets.generated.noisy_curve import NoisyCurve, even_grid

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

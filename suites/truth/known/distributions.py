r"""Distributions of functions on standardised inputs, drawn only by NumPy.

$$ f = \text{a network with weights } N(0, 1/\lambda) \quad\text{or}\quad
   f \sim GP(0, k), \qquad
   k(x, x') = v \exp\Bigl(-\tfrac12 \sum_d (x_d - x'_d)^2 / l_d^2\Bigr), $$

and targets are $y \sim N(f(x), \sigma^2)$, or classes with probabilities softmax(f(x)).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bnnbench.datasets.base import DataSource
from bnnbench.methods.networks.architectures import Architecture, ReLU, Tanh
from bnnbench.methods.networks.perceptron import as_perceptron
from bnnbench.methods.networks.priors import FixedPrecision
from bnnbench.suites.truth.references.prior import outputs, weights_from_prior

Inputs = Float[np.ndarray, "points features"]
Outputs = Float[np.ndarray, "points outputs"]
TrainInputs = Float[np.ndarray, "train_rows features"]
TestInputs = Float[np.ndarray, "test_rows features"]
JITTER = 1e-10
"""Added to the diagonal of covariances, relative to the function's variance."""


@dataclass(frozen=True)
class NetworkLaw:
    """Functions of networks whose weights are drawn from their prior."""

    architecture: Architecture
    prior: FixedPrecision

    def draw(self, inputs: Inputs, rng: np.random.Generator) -> Outputs:
        """Return one function's outputs."""
        perceptron = as_perceptron(self.architecture, inputs.shape[1:], ReLU, Tanh)
        weights = weights_from_prior(perceptron.widths, self.prior.precision, rng)
        return outputs(weights, inputs, type(perceptron.activation).__name__)


@dataclass(frozen=True)
class ProcessLaw:
    """Functions of a Gaussian process with a squared exponential kernel."""

    variance: float
    lengths: tuple[float, ...]
    """One length scale per feature, in standardised units."""

    def __post_init__(self) -> None:
        numbers = (self.variance, *self.lengths)
        if not self.lengths or not all(math.isfinite(n) and n > 0 for n in numbers):
            raise ValueError(f"needed a variance and lengths above 0; got {self}")

    def covariance(
        self,
        first: Float[np.ndarray, "first features"],
        second: Float[np.ndarray, "second features"],
    ) -> Float[np.ndarray, "first second"]:
        """Return the covariances of function values at two sets of points."""
        scaled = [x / np.asarray(self.lengths) for x in (first, second)]
        squares = ((scaled[0][:, None] - scaled[1]) ** 2).sum(2)
        return self.variance * np.exp(-squares / 2)

    def draw(self, inputs: Inputs, rng: np.random.Generator) -> Outputs:
        """Return one function's values, in one column; equal points have equal values."""
        unique, places = np.unique(inputs, axis=0, return_inverse=True)
        covariance = self.covariance(unique, unique) + JITTER * self.variance * np.eye(len(unique))
        values = np.linalg.cholesky(covariance) @ rng.standard_normal(len(unique))
        return values[places.ravel()][:, None]


@dataclass(frozen=True)
class GaussianTargets:
    """Real targets with noise of a known standard deviation."""

    noise_std: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.noise_std) and self.noise_std > 0):
            raise ValueError(f"needed a noise_std above 0; got {self.noise_std}")

    def truth(self, f: Outputs) -> Outputs:
        """Return the expected targets."""
        return f

    def draw(self, f: Outputs, rng: np.random.Generator) -> Float[np.ndarray, " points"]:
        """Return noisy targets."""
        return f[:, 0] + self.noise_std * rng.standard_normal(len(f))


@dataclass(frozen=True)
class ClassTargets:
    """Classes with the probabilities softmax(f)."""

    def truth(self, f: Outputs) -> Outputs:
        """Return the probabilities."""
        powers = np.exp(f - f.max(1, keepdims=True))
        return powers / powers.sum(1, keepdims=True)

    def draw(self, f: Outputs, rng: np.random.Generator) -> Float[np.ndarray, " points"]:
        """Return class numbers."""
        below = self.truth(f).cumsum(1)[:, :-1]
        return (rng.random(len(f))[:, None] > below).sum(1).astype(float)


@dataclass(frozen=True)
class OracleProblem:
    """A family to be drawn: inputs of a source's fold 0, distributions of functions and targets."""

    source: DataSource
    functions: NetworkLaw | ProcessLaw
    targets: GaussianTargets | ClassTargets
    count: int = 20
    """Number of functions."""

    def drawn(
        self, train: TrainInputs, test: TestInputs
    ) -> list[tuple[Sequence[np.ndarray], Sequence[np.ndarray]]]:
        """Return, for each function, the targets and the truth of training and test rows."""
        cut, inputs = len(train), np.concatenate([train, test])
        draws = []
        for number in range(self.count):
            rng = np.random.default_rng(number)
            f = self.functions.draw(inputs, rng)
            targets, truth = self.targets.draw(f, rng), self.targets.truth(f)
            draws.append(((targets[:cut], targets[cut:]), (truth[:cut], truth[cut:])))
        return draws

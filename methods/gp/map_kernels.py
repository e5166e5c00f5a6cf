r"""Kernels of maximum posterior density (MAP): marginal likelihood times priors of its settings.

The priors are normal in the logarithms, for standardised inputs and targets of D features: a length
scale has mean $\sqrt2 + \tfrac12 \log D$ and standard deviation $\sqrt3$, whatever D is of the
order of distances between rows; the noise's standard deviation has log 0.3 and 1, the signal's 0
and 0.5.

Source: Hvarfner, Hellsten and Nardi (2024), "Vanilla Bayesian Optimization Performs Great in High
Dimensions", for length scales; the other two priors are this project's.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float64
from scipy import optimize

from bnnbench.methods.base import InferenceDiverged
from bnnbench.methods.fitting import work
from bnnbench.methods.gp.evidence import CORRELATIONS, evidence

Logs = Float64[np.ndarray, " settings"]
"""Logarithms of the signal's standard deviation, the length scales and, if unknown, the noise's
standard deviation."""
SIGNAL, NOISE, LENGTH_STD = (0.0, 0.5), (math.log(0.3), 1.0), math.sqrt(3)
"""Mean and standard deviation of the logarithms."""
SIGNALS, LENGTHS, NOISES = (0.03, 30.0), (1e-2, 1e3), (1e-3, 3.0)
"""Bounds of the search, of standard deviations and length scales."""


@dataclass(frozen=True)
class Kernel:
    """A stationary kernel and the noise, in standardised inputs and targets."""

    correlation: str
    """A name in `CORRELATIONS`."""
    variance: float
    lengths: Float64[np.ndarray, " features"]
    noise: float
    """Variance of the noise."""

    def inflated(self, factor: float) -> "Kernel":
        """Return the kernel of equal means whose variances, noise included, are multiplied."""
        return replace(self, variance=factor * self.variance, noise=factor * self.noise)


@dataclass(frozen=True)
class Objective:
    """The negative log posterior density of a kernel's settings, up to a constant, in nats."""

    correlation: str
    shared: bool
    """True if all features have the same length scale."""
    inputs: Float64[np.ndarray, "rows features"]
    targets: Float64[np.ndarray, " rows"]
    noise_std: float | None = None
    """Standard deviation of the noise if it is known, in standardised targets."""

    def __call__(self, logs: Logs) -> tuple[float, Logs]:
        """Return the value and its gradient."""
        kernel = self.kernel(logs)
        work.count("factorisations", 1)
        value, slope = evidence(
            CORRELATIONS[self.correlation],
            *(self.inputs, self.targets, kernel.variance, kernel.lengths, kernel.noise),
        )
        means, stds = self.prior
        z = (logs - means) / stds
        return 0.5 * float(z @ z) - value, z / stds - self._by_logs(slope)

    def kernel(self, logs: Logs) -> Kernel:
        """Return the kernel with these settings."""
        lengths = np.exp(logs[1 : 1 + self._lengths])
        noise_std = math.exp(logs[-1]) if self.noise_std is None else self.noise_std
        features = np.broadcast_to(lengths, self.inputs.shape[1:]).copy()
        return Kernel(self.correlation, math.exp(2 * logs[0]), features, noise_std**2)

    def start(self, length: float | Sequence[float], noise_std: float) -> Logs:
        """Return the settings of a signal of deviation 1, with these length scales and noise."""
        lengths = np.log(np.broadcast_to(length, self._lengths))
        return self._joined(0.0, lengths, math.log(noise_std))

    @cached_property
    def prior(self) -> tuple[Logs, Logs]:
        """The prior means and standard deviations of the logarithms."""
        mean = math.sqrt(2) + 0.5 * math.log(self.inputs.shape[1])
        pairs = (SIGNAL[0], [mean], NOISE[0]), (SIGNAL[1], [LENGTH_STD], NOISE[1])
        means, stds = (self._joined(a, np.repeat(b, self._lengths), c) for a, b, c in pairs)
        return means, stds

    @property
    def bounds(self) -> np.ndarray:
        """The bounds of the logarithms, one row for each."""
        ends = zip(SIGNALS, LENGTHS, NOISES, strict=True)
        low_high = [self._joined(a, np.repeat(b, self._lengths), c) for a, b, c in ends]
        return np.log(low_high).T

    @property
    def _lengths(self) -> int:
        return 1 if self.shared else self.inputs.shape[1]

    def _joined(self, signal: float, lengths: np.ndarray, noise: float) -> Logs:
        return np.array([signal, *lengths, *([noise] if self.noise_std is None else [])])

    def _by_logs(self, slope: np.ndarray) -> Logs:
        """Return the gradient of the evidence, given the one by logarithms of variances."""
        by_length = slope[1:-1].sum(keepdims=True) if self.shared else slope[1:-1]
        return self._joined(2 * slope[0], by_length, 2 * slope[-1])


def most_probable(objective: Objective, starts: Sequence[Logs], precision: float) -> Logs:
    """Return the settings of the best local maximum of the posterior density.

    `precision` is the relative decrease of the objective at which a search ends. Raises
    `InferenceDiverged` if no covariance is positive definite.
    """
    search: Any = optimize.minimize  # its stubs have no `jac=True`
    results = [
        search(
            *(objective, start),
            jac=True,
            method="L-BFGS-B",
            bounds=objective.bounds,
            options={"ftol": precision},
        )
        for start in starts
    ]
    best = min(results, key=lambda result: result.fun)
    if not math.isfinite(best.fun):
        raise InferenceDiverged(f"covariances of a {objective.correlation} kernel are singular")
    return best.x

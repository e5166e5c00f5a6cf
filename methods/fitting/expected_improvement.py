r"""Bayesian optimisation of a few settings by expected improvement.

A Gaussian process models the loss. The next trial maximises
$\mathrm{EI}(x) = \mathrm E[\max(f^* - f(x), 0)] = (f^* - \mu)\,\Phi(z) + \sigma\,\varphi(z)$ with
$z = (f^* - \mu)/\sigma$, the lowest loss so far, $f^*$, and the process's moments at x.

Source: Snoek, Larochelle and Adams (2012), "Practical Bayesian Optimization of Machine Learning
Algorithms", here with the kernel of maximum marginal likelihood instead of samples of kernels.
"""

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64
from scipy.stats import norm
from torch import Generator, randint

Settings = dict[str, float]
Places = Float64[np.ndarray, "points settings"]
"""Settings as positions in their ranges, from 0 to 1."""

FIRST = 10
"""Number of trials at random, before there is a model."""
CANDIDATES = 1000
"""Number of places compared all over the ranges, and of those near the best trial."""
NEAR = 0.05
"""Standard deviation of the latter around that trial."""
LENGTHS, NOISES = (0.05, 20.0), (1e-6, 1.0)
"""Bounds of length scales, and of the noise variance of standardised losses."""
_WARNINGS = Lock()
"""Held while warnings are ignored, since filters of warnings are those of the whole process."""


@dataclass(frozen=True)
class Range:
    """The range of a setting: from `low` to `high`, uniform in its logarithm if `log`."""

    low: float
    high: float
    log: bool = False

    def at(self, place: float) -> float:
        """Return the value at a position from 0 to 1."""
        if self.log:
            value = self.low * (self.high / self.low) ** place
        else:
            value = self.low + (self.high - self.low) * place
        return min(max(float(value), self.low), self.high)


class Trial(NamedTuple):
    """Settings and their validation loss, which is infinite if the fit diverged."""

    settings: Settings
    loss: float


def minimise(
    objective: Callable[[Settings], float],
    ranges: Mapping[str, Range],
    trials: int,
    rng: Generator,
    ceiling: float,
) -> list[Trial]:
    """Return the trials of a sequential search, best first.

    The model sees losses capped at `ceiling`, so that one exploding trial does not flatten it.
    """
    random = np.random.default_rng(int(randint(2**31, (1,), generator=rng, device=rng.device)))
    places, done = random.uniform(size=(min(FIRST, trials), len(ranges))), []
    for number in range(trials):
        if number >= FIRST:
            losses = np.array([min(trial.loss, ceiling) for trial in done])
            places = np.vstack([places, _next(places, losses, random)])
        pairs = zip(ranges.items(), places[number], strict=True)
        settings = {name: span.at(place) for (name, span), place in pairs}
        value = objective(dict(settings))
        done.append(Trial(settings, math.inf if math.isnan(value) else value))
    return sorted(done, key=lambda trial: trial.loss)


def expected_improvement(
    mean: Float64[np.ndarray, " points"], std: Float64[np.ndarray, " points"], lowest: float
) -> Float64[np.ndarray, " points"]:
    """Return by how much Gaussian losses are expected to fall below the lowest one so far."""
    z = (lowest - mean) / std
    return (lowest - mean) * norm.cdf(z) + std * norm.pdf(z)


def _next(
    places: Places, losses: Float64[np.ndarray, " points"], random: np.random.Generator
) -> Float64[np.ndarray, " settings"]:
    """Return the most promising of many random places."""
    standard = (losses - losses.mean()) / (losses.std() or 1.0)
    process = _process(places, standard)
    best = places[losses.argmin()]
    near = best + NEAR * random.standard_normal((CANDIDATES, len(best)))
    candidates = np.vstack([random.uniform(size=near.shape), near.clip(0, 1)])
    mean, std = process.predict(candidates, return_std=True)
    noise = process.kernel_.k2.noise_level
    latent = np.sqrt((std**2 - noise).clip(1e-12))
    return candidates[expected_improvement(mean, latent, standard.min()).argmax()]


def _process(places: Places, losses: Float64[np.ndarray, " points"]) -> Any:
    """Return a Gaussian process conditioned on standardised losses, Matérn 5/2 plus noise."""
    from sklearn import gaussian_process
    from sklearn.exceptions import ConvergenceWarning

    kernels: Any = gaussian_process.kernels  # its stubs allow no arrays of length scales
    shape = kernels.Matern(np.ones(places.shape[1]), LENGTHS, nu=2.5)
    kernel = kernels.ConstantKernel() * shape + kernels.WhiteKernel(1e-2, NOISES)
    process = gaussian_process.GaussianProcessRegressor(kernel, alpha=0.0)
    with _WARNINGS, warnings.catch_warnings():
        # A setting whose length scale is at its bound has no influence.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return process.fit(places, losses)

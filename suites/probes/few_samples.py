"""Errors of predictive distributions from few draws of the weights, against the exact one.

Source: paper 002, section 4.3 and figures 3 and 4.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from bnnbench.datasets.base import Dataset
from bnnbench.datasets.conditions import condition_names
from bnnbench.datasets.conditions.traits import Traits
from bnnbench.engine.declare.probe import Measured
from bnnbench.methods.exact_linear_regression.integrals import (
    Collapsed,
    Real,
    mean_logistic,
)
from bnnbench.methods.exact_linear_regression.method import DrawsPosterior
from bnnbench.methods.predictions.predictive import GaussianPredictive
from bnnbench.metrics import PROBED
from bnnbench.metrics.divergences import OnGrid

NODES, REACH = 501, 9.0
"""Number of targets in the grid, and its range on either side of both densities' means, in their
standard deviations. A sum of 12 uniforms is bounded by 6.
"""


@dataclass(frozen=True)
class FewSamples:
    """Divergences from the exact predictive at the test inputs, for several numbers of draws.

    All numbers share their first draws, and all methods share the draws of a fold and seed. Means
    are over the test inputs.
    """

    counts: tuple[int, ...] = (2, 4, 5, 8, 10, 20, 40, 50, 80, 100, 160, 200, 320)

    def __post_init__(self) -> None:
        if not self.counts or min(self.counts) < 2:
            raise ValueError(f"FewSamples needs counts of at least 2; got {self.counts}")

    def measure(
        self, posterior: DrawsPosterior, dataset: Dataset, rng: torch.Generator
    ) -> Mapping[str, Measured]:
        """Return names such as "samples_5" → errors and number of draws.

        The divergence from the exact density is omitted if infinite, as for every density with
        bounded support.
        """
        inputs, integral = dataset.test.inputs.to(rng.device), posterior.integral
        noise_std = posterior.exact.noise_std
        truth = posterior.exact.predict(inputs, rng)
        mean, variance = posterior.exact.of_function(inputs)
        share = mean_logistic(mean, variance.sqrt())
        weights = posterior.exact.draws(max(self.counts), rng)
        measured = {}
        for count in self.counts:
            first_draws = weights[:count]
            y, step = _grid(truth, integral.predictive(first_draws, inputs, noise_std))
            estimate = OnGrid(integral.log_density(first_draws, inputs, noise_std, y), step)
            scores = _divergences(estimate, OnGrid(_log_normal(y, truth), step))
            logistic = {"logistic_error": integral.logistic(first_draws, inputs)}
            if isinstance(integral, Collapsed):
                logistic["cubic_error"] = integral.cubic(first_draws, inputs)
            for name, estimate in logistic.items():
                scores[name] = float(PROBED[name].score(estimate, share).mean())
            traits = Traits(f"{count} draws", draws=count)
            measured[condition_names.drawn(count)] = Measured(scores, traits)
        return measured


def _divergences(estimate: OnGrid, exact: OnGrid) -> dict[str, float]:
    names = ("kl_to_exact", "kl_from_exact", "total_variation")
    scores = {name: float(PROBED[name].score(estimate, exact).mean()) for name in names}
    return {name: score for name, score in scores.items() if score < math.inf}


def _grid(
    first: Real, second: Real
) -> tuple[Float64[Tensor, "points nodes"], Float64[Tensor, " points"]]:
    """Return nodes for each point, beyond which both densities vanish, and their spacing."""
    ends = [
        (p.mean + sign * REACH * p.variance.sqrt())[:, 0].double()
        for sign in (-1, 1)
        for p in (first, second)
    ]
    low, high = torch.minimum(*ends[:2]), torch.maximum(*ends[2:])
    step = (high - low) / (NODES - 1)
    steps = torch.arange(NODES, dtype=torch.float64, device=low.device)
    return low[:, None] + step[:, None] * steps, step


def _log_normal(
    y: Float64[Tensor, "points nodes"], truth: GaussianPredictive
) -> Float64[Tensor, "points nodes"]:
    std = truth.variance.double().sqrt()
    z = (y - truth.mean.double()) / std
    return -0.5 * z.square() - (std * math.sqrt(2 * math.pi)).log()

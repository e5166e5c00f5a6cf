"""Errors of an approximation for two units, against the exact posterior of the same model."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from bnnbench.datasets.base import Dataset
from bnnbench.datasets.conditions import condition_names
from bnnbench.datasets.conditions.traits import Traits
from bnnbench.engine.declare.probe import Measured
from bnnbench.methods.approximation_levels.approximations import Drawn, RungPosterior
from bnnbench.methods.approximation_levels.importance import Exact, exact
from bnnbench.methods.approximation_levels.two_units import GROUPS, TwoUnits
from bnnbench.methods.fitting.memo import Memo, content
from bnnbench.methods.fitting.randomness import spawn
from bnnbench.metrics import PROBED
from bnnbench.metrics.divergences import OnGrid
from bnnbench.metrics.moments import SampledUnits, Units

NODES, REACH = 1001, 9.0
"""Number of targets in the grid, and its range beyond both means in standard deviations."""
TITLES: Mapping[str, str] = {
    "first_weights": "weights of the first layer",
    "first_biases": "biases of the first layer",
    "second_weights": "weights of the second layer",
    "second_bias": "bias of the second layer",
}


@dataclass(frozen=True)
class RungScores:
    """Divergence and width of the predictive, and widths of the weights, against the exact ones.

    The exact posterior is sampled independently of any measured one, so that the divergence of an
    exact level shows the error of both.
    """

    draws: int = 4_000_000

    def measure(
        self, posterior: RungPosterior, dataset: Dataset, rng: Generator
    ) -> Mapping[str, Measured]:
        """Return the errors of the function, inside the training inputs and at all test inputs,
        and of the weights by layer.

        Raises `InferenceDiverged` if the exact posterior is not known well enough.
        """
        for_truth, for_functions = spawn(rng, 2)
        model = posterior.model
        truth = self._truth(model, for_truth)
        x = dataset.test.inputs[:, 0].double().to(rng.device)
        inside = (x >= model.x.min()) & (x <= model.x.max())
        estimate = posterior.approximation.function(model, x, for_functions)
        known = truth.function(model, x, for_functions)
        measured = {
            condition_names.FUNCTION_INSIDE: Measured(
                dict(_scores(estimate, known, inside, model)), Traits("inside the training inputs")
            ),
            condition_names.FUNCTION: Measured(
                dict(_scores(estimate, known, torch.ones_like(inside), model)),
                Traits("all test inputs"),
            ),
        }
        stds = posterior.approximation.stds, truth.stds
        for group, part in GROUPS.items():
            ratio = _ratio(*(std[part] for std in stds))
            measured[condition_names.weights(group)] = Measured(
                {"eps_sigma": ratio}, Traits(TITLES[group])
            )
        return measured

    def _truth(self, model: TwoUnits, rng: Generator) -> Drawn:
        """Return the exact posterior of a model, sampled once per process."""
        parts = model.x, model.y, model.prior_mean, model.prior_variance
        key = self.draws, model.noise_variance, model.slope, content(*parts, rng.get_state())
        return Drawn(_last.get(key, lambda: exact(model, self.draws, rng)))


_last: Memo[Exact] = Memo(keep=20)
"""The exact posteriors of as many folds as a worker is likely to measure alternately."""

Function = tuple[Tensor, Tensor]
"""Means and variances at the inputs."""


def _scores(
    approximate: Function, known: Function, part: Tensor, model: TwoUnits
) -> Iterator[tuple[str, float]]:
    """Yield metrics with values at the inputs for which `part` is true."""
    (mean, variance), (exact_mean, exact_variance) = (
        (one[part], other[part]) for one, other in (approximate, known)
    )
    stds = [(v + model.noise_variance).sqrt() for v in (variance, exact_variance)]
    means = mean, exact_mean
    low = torch.minimum(*(m - REACH * s for m, s in zip(means, stds, strict=True)))
    high = torch.maximum(*(m + REACH * s for m, s in zip(means, stds, strict=True)))
    step = (high - low) / (NODES - 1)
    y = low[:, None] + step[:, None] * torch.arange(NODES, dtype=low.dtype, device=low.device)
    estimate, truth = (
        OnGrid(torch.distributions.Normal(m[:, None], s[:, None]).log_prob(y), step)
        for m, s in zip(means, stds, strict=True)
    )
    yield "kl_from_exact", float(PROBED["kl_from_exact"].score(estimate, truth).mean())
    yield "eps_sigma", _ratio(variance.sqrt(), exact_variance.sqrt())


def _ratio(std: Tensor, exact_std: Tensor) -> float:
    """Return the geometric mean of the ratios of standard deviations."""
    zeros = torch.zeros_like(exact_std)[None]
    units, truth = Units(zeros, std[None]), SampledUnits(zeros, exact_std[None])
    return float(PROBED["eps_sigma"].score(units, truth))

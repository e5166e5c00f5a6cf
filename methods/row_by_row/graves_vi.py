r"""Stochastic variational inference with one draw of the weights per row.

The posterior is an independent Gaussian for every weight. So is the prior, whose common mean and
variance maximise the bound in closed form. Derivatives with respect to the means are gradients at
drawn weights; derivatives with respect to the variances use squared gradients as the curvature:

$$ \partial L / \partial \mu_i = \sum_n g_{ni} + (\mu_i - \mu) / \sigma^2, \qquad
   2\, \partial L / \partial \sigma_i^2 = \sum_n g_{ni}^2 + 1 / \sigma^2 - 1 / \sigma_i^2 $$

Source: Graves (2011), "Practical Variational Inference for Neural Networks"; run as in
Hernández-Lobato and Adams (2015), section 5.1: an update after every row, learning rate and
momentum by 30 trials on a fifth of the training rows.

The sources leave open the following; the choices here are:

- Steps in the means are scaled by the noise variance, so that learning rates mean the same as
  for squared errors.
- The precisions 1 / σᵢ² move by natural gradient: a running average, over one pass, of the value
  that makes the derivative zero. A plain step in σᵢ² is stable only for rates below about σᵢ⁴ times
  rows over noise variance, and can make a variance negative; `steps="plain"` takes plain steps in
  log σᵢ instead, at the rate and momentum of the means, by the gradient of the sampled bound.
- Prior and noise variance are set after every pass, the latter to the mean squared residual of
  the pass.
- The search maximises the log likelihood of the validation rows.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, get_args

import numpy as np
import torch
from jaxtyping import Float

from bnnbench.datasets.base import Categorical, Gaussian, Split
from bnnbench.methods.base import InferenceDiverged, Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.compiled.first_rows import fit_first_rows
from bnnbench.methods.fitting.batched import Batched
from bnnbench.methods.fitting.expected_improvement import Settings
from bnnbench.methods.fitting.members import in_threads
from bnnbench.methods.fitting.network_posterior import DiagonalGaussianPosterior
from bnnbench.methods.fitting.scale_free import scale_free
from bnnbench.methods.fitting.settings import (
    earlier,
    require_between,
    require_choice,
    require_count,
    require_positive,
)
from bnnbench.methods.fitting.validation_search import tuned
from bnnbench.methods.predictions.base import HasLogProb
from bnnbench.methods.row_by_row.backprop import LEAST_VARIANCE, RANGES
from bnnbench.methods.row_by_row.perceptron import RowPerceptron
from bnnbench.methods.tuning.space import Space

Steps = Literal["natural", "plain"]
TUNED = {name: RANGES[name] for name in ("learning_rate", "momentum")}


@dataclass(frozen=True)
class GravesVi(Batched):
    """Variational inference by row-wise gradients; ReLU and tanh perceptrons.

    A prediction averages `draws` weight vectors.
    """

    card: ClassVar[Card] = Card("variational", problems=("mlp regression", "mlp classification"))
    prior_use: ClassVar[PriorUse] = "own"
    space: ClassVar[Space] = Space()

    epochs: int = 40
    trials: int = 30
    validation_share: float = 0.2
    initial_std: float = 0.05
    draws: int = 100
    steps: Steps = field(default="natural", metadata=earlier("natural"))
    """Steps in the standard deviations: by natural gradient, or plain ones in their logarithms."""

    def __post_init__(self) -> None:
        require_count(self, "epochs", "trials", "draws")
        require_between(self, 0.0, 1.0, "validation_share")
        require_positive(self, "initial_std")
        require_choice(self, "steps", get_args(Steps))

    def warm_up(self, problem: Problem) -> None:
        """Compile the descent, and load the search."""
        fit_first_rows(replace(self, epochs=1, trials=1), problem, rows=4)

    @scale_free
    def fit_many(
        self, problems: Sequence[Problem], rngs: Sequence[torch.Generator]
    ) -> list[Posterior | InferenceDiverged]:
        """Return the posterior of each problem, several at a time in threads."""
        return in_threads(self._search, problems, rngs)

    def _search(self, problem: Problem, rng: torch.Generator) -> Posterior:
        best = tuned(
            problem,
            self.descend,
            validation_loss,
            TUNED,
            trials=self.trials,
            share=self.validation_share,
            ceiling=baseline_loss(problem) + 1,
            rng=rng,
        )
        return replace(best.fitted, details=best.fitted.details | best.diagnostics)

    def descend(
        self, problem: Problem, settings: Settings, rng: torch.Generator
    ) -> DiagonalGaussianPosterior:
        """Return the posterior for one learning rate and momentum, by name, without a search.

        Raises `InferenceDiverged` if the loss explodes.
        """
        from bnnbench.methods.compiled.normal import initial_state
        from bnnbench.methods.row_by_row.kernels.graves_vi import vary_epoch

        rows = RowPerceptron(problem)
        likelihood, noise_variance, learned = problem.likelihood, 1.0, False
        if isinstance(likelihood, Gaussian):
            learned = likelihood.noise_std is None
            noise_variance = 1.0 if likelihood.noise_std is None else likelihood.noise_std**2
        mean, state = rows.initial(rng), initial_state(rng)
        precision = np.full_like(mean, self.initial_std**-2)
        velocity, spread_velocity = np.zeros_like(mean), np.zeros_like(mean)
        changing = (mean, precision, velocity, spread_velocity, state)
        prior, noise = np.array([0.0, 1.0]), np.array([noise_variance])
        for epoch in rows.epochs(self.epochs, rng, *changing, prior, noise):
            epoch.loss = vary_epoch(
                *changing,
                rows.widths,
                rows.tanh,
                rows.inputs,
                rows.targets,
                epoch.order,
                rows.categorical,
                self.steps == "natural",
                settings["learning_rate"],
                settings["momentum"],
                float(len(rows.inputs)),
                *noise.tolist(),
                *prior.tolist(),
            )
            prior[:] = best_prior(mean, 1 / precision)
            if learned:
                noise[:] = max(2 * epoch.loss / int(rows.widths[-1]), LEAST_VARIANCE)
        (noise_variance,), (prior_mean, prior_variance) = noise.tolist(), prior.tolist()
        details = {
            "prior_mean": prior_mean,
            "prior_std": math.sqrt(prior_variance),
            "kl_per_row": kl(mean, 1 / precision, prior_mean, prior_variance) / len(rows.inputs),
        }
        known = None if rows.categorical else noise_variance
        std = rows.in_torch(precision**-0.5)
        return DiagonalGaussianPosterior(rows.posterior(mean, known, {}), std, self.draws, details)


def best_prior(
    mean: Float[np.ndarray, " parameters"], variance: Float[np.ndarray, " parameters"]
) -> tuple[float, float]:
    """Return mean and variance of the prior nearest to the posterior in `kl`.

    Source: Graves (2011), section 4.
    """
    center = float(mean.mean())
    with np.errstate(over="ignore"):  # in a fit that is about to fail
        return center, float((variance + np.square(mean - center)).mean())


def kl(
    mean: Float[np.ndarray, " parameters"],
    variance: Float[np.ndarray, " parameters"],
    prior_mean: float,
    prior_variance: float,
) -> float:
    """Return KL[posterior || prior], summed over weights, in nats."""
    ratio = variance / prior_variance
    distance = np.square(mean - prior_mean) / prior_variance
    return float(0.5 * (ratio + distance - 1 - np.log(ratio)).sum())


def baseline_loss(problem: Problem) -> float:
    """Return the negative log likelihood per row of N(0, mean square), or of uniform labels."""
    if isinstance(problem.likelihood, Categorical):
        return math.log(problem.likelihood.classes)
    targets = problem.train.targets.double()
    variance = float(targets.square().mean()) + LEAST_VARIANCE
    return targets.shape[1] * 0.5 * (math.log(2 * math.pi * variance) + 1)


def validation_loss(
    posterior: DiagonalGaussianPosterior, validation: Split, rng: torch.Generator
) -> float:
    """Return the mean negative log likelihood of the validation rows, in nats."""
    prediction = posterior.predict(validation.inputs, rng)
    assert isinstance(prediction, HasLogProb)
    return -float(prediction.log_prob(validation.targets).mean())

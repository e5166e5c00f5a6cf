"""Backpropagation: stochastic gradient descent with settings chosen by validation.

Weights move after every row, with momentum and weight decay. Learning rate, momentum and decay come
from the best of 30 trials of Bayesian optimisation on a fifth of the training rows; the network is
then fitted to all rows.

Source: Hernández-Lobato and Adams (2015), "Probabilistic Backpropagation for Scalable Learning
of Bayesian Neural Networks", section 5.1. It prints no ranges, initial weights or predictive
density: these are ours.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch

from bnnbench.datasets.base import Categorical, Gaussian, Split
from bnnbench.methods.base import InferenceDiverged, Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.compiled.first_rows import fit_first_rows
from bnnbench.methods.fitting.batched import Batched
from bnnbench.methods.fitting.expected_improvement import Range, Settings
from bnnbench.methods.fitting.members import in_threads
from bnnbench.methods.fitting.network_posterior import NetworkPosterior
from bnnbench.methods.fitting.scale_free import scale_free
from bnnbench.methods.fitting.settings import require_between, require_count
from bnnbench.methods.fitting.validation_search import tuned
from bnnbench.methods.predictions.base import HasLogProb
from bnnbench.methods.predictions.predictive import GaussianPredictive
from bnnbench.methods.row_by_row.perceptron import RowPerceptron
from bnnbench.methods.tuning.space import Space

RANGES: Mapping[str, Range] = {
    # With standardised features, a gradient's squared length is about their number. Above 0.1 one
    # row's step overshoots; below 1e-5 weights barely move in forty epochs of a thousand rows.
    "learning_rate": Range(1e-5, 1e-1, log=True),
    # From no momentum to an average over a hundred rows.
    "momentum": Range(0.0, 0.99),
    # A row's share of the prior, noise variance * prior precision / rows: from the largest sets
    # to twenty noisy rows.
    "weight_decay": Range(1e-7, 1e-1, log=True),
}
LEAST_VARIANCE = 1e-10
"""Minimum residual variance, in standardised units: the resolution of single precision."""


@dataclass(frozen=True)
class Backprop(Batched):
    """A point estimate by row-wise gradient descent on half the squared error.

    Decay applies to all weights, including biases. A regression's noise variance is the mean
    squared error on the validation rows at the chosen settings, unless it is known; a classifier
    descends on its cross-entropy.
    """

    card: ClassVar[Card] = Card(
        "point estimates", problems=("mlp regression", "mlp classification")
    )
    prior_use: ClassVar[PriorUse] = "none"
    space: ClassVar[Space] = Space()

    epochs: int = 40
    trials: int = 30
    validation_share: float = 0.2

    def __post_init__(self) -> None:
        require_count(self, "epochs", "trials")
        require_between(self, 0.0, 1.0, "validation_share")

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
            self._descend,
            validation_loss,
            RANGES,
            trials=self.trials,
            share=self.validation_share,
            ceiling=baseline_loss(problem) + math.log(2),
            rng=rng,
        )
        likelihood, variance = problem.likelihood, None
        if isinstance(likelihood, Gaussian):
            noise_std = likelihood.noise_std
            variance = math.exp(best.trial.loss) if noise_std is None else noise_std**2
        noise = {} if variance is None else {"noise_std": math.sqrt(variance)}
        return replace(best.fitted, noise_variance=variance, diagnostics=best.diagnostics | noise)

    def _descend(
        self, problem: Problem, settings: Settings, rng: torch.Generator
    ) -> NetworkPosterior:
        from bnnbench.methods.row_by_row.kernels.backprop import descend_epoch

        rows = RowPerceptron(problem)
        weights = rows.initial(rng)
        velocity = weights * 0
        for epoch in rows.epochs(self.epochs, rng, weights, velocity):
            epoch.loss = descend_epoch(
                weights,
                velocity,
                rows.widths,
                rows.tanh,
                rows.inputs,
                rows.targets,
                epoch.order,
                rows.categorical,
                settings["learning_rate"],
                settings["momentum"],
                settings["weight_decay"],
            )
        return rows.posterior(weights, None if rows.categorical else 1.0, {})


def baseline_loss(problem: Problem) -> float:
    """Return the validation loss on the training rows when predicting 0 or uniform labels."""
    if isinstance(problem.likelihood, Categorical):
        return math.log(problem.likelihood.classes)
    return math.log(float(problem.train.targets.double().square().mean()) + LEAST_VARIANCE)


def validation_loss(posterior: NetworkPosterior, validation: Split, rng: torch.Generator) -> float:
    """Return the log of the mean squared error, or for labels the mean log loss in nats."""
    prediction = posterior.predict(validation.inputs, rng)
    if not isinstance(prediction, GaussianPredictive):
        assert isinstance(prediction, HasLogProb)
        return -float(prediction.log_prob(validation.targets).mean())
    error = prediction.mean - validation.targets
    return math.log(max(float(error.square().mean()), LEAST_VARIANCE))

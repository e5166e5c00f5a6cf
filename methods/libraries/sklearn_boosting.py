"""Gradient boosting of scikit-learn: class probabilities, or quantiles fitted separately by level.

Sources: Friedman (2001), "Greedy Function Approximation: A Gradient Boosting Machine"; Koenker and
Bassett (1978), "Regression Quantiles", for the loss of a quantile.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from torch import Tensor

from bnnbench.datasets.base import Categorical
from bnnbench.methods.base import Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.fitting import progress, work
from bnnbench.methods.fitting.settings import require_count, require_positive
from bnnbench.methods.libraries.sklearn_rows import (
    ClassifierPosterior,
    OneClass,
    answers,
    fitted,
    seed_of,
    single_target,
    vectors,
)
from bnnbench.methods.predictions.quantiles import QuantilePredictive
from bnnbench.methods.tuning.space import Log, Space


@dataclass(frozen=True)
class BoostedQuantiles:
    """One fitted regressor for each level."""

    levels: tuple[float, ...]
    regressors: tuple[Any, ...]
    diagnostics: Mapping[str, float]

    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> QuantilePredictive:
        """Return the quantiles, sorted if separate fits cross; nothing is drawn."""
        points = vectors(inputs)
        of_levels = [answers(each.predict, points) for each in self.regressors]
        quantiles = np.sort(np.stack(of_levels, -1), -1)
        levels = torch.tensor(self.levels, dtype=torch.float64, device=inputs.device)
        return QuantilePredictive(levels, torch.from_numpy(quantiles)[:, None].to(inputs.device))


@dataclass(frozen=True)
class SklearnBoosting:
    """Gradient boosting of scikit-learn: class probabilities, or quantiles of a regression."""

    card: ClassVar[Card] = Card("not a network")
    label: ClassVar[str] = "scikit-learn: gradient boosting"
    prior_use: ClassVar[PriorUse] = "none"
    space: ClassVar[Space] = Space({"learning_rate": Log(0.01, 0.5), "l2": Log(1e-3, 30.0)})

    trees: int = 100
    """Number of trees for each level or class."""
    learning_rate: float = 0.1
    """Share of each tree's prediction that is added."""
    l2: float = 1.0
    """Strength of the penalty on squared leaf values."""
    levels: tuple[float, ...] = (0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975)
    """Levels of the quantiles of a regression."""

    def __post_init__(self) -> None:
        require_count(self, "trees")
        require_positive(self, "learning_rate", "l2")
        inside = all(0 < level < 1 for level in self.levels)
        if not (self.levels and inside and list(self.levels) == sorted({*self.levels})):
            raise ValueError(
                f"SklearnBoosting needs levels that increase between 0 and 1; got {self.levels}"
            )

    def fit(self, problem: Problem, rng: torch.Generator) -> Posterior:
        """Return the fitted trees; raises `Unsupported` for several targets."""
        inputs, likelihood = vectors(problem.train.inputs), problem.likelihood
        options: dict[str, Any] = {
            **{"max_iter": self.trees, "learning_rate": self.learning_rate},
            **{"l2_regularization": self.l2, "early_stopping": False},
            "random_state": seed_of(rng),
        }
        if isinstance(likelihood, Categorical):
            classifier = fitted(HistGradientBoostingClassifier(**options), problem)
            if not isinstance(classifier, OneClass):
                grown = classifier.n_trees_per_iteration_ * classifier.n_iter_
                work.count("tree_rows", grown * len(inputs))
            return ClassifierPosterior(classifier, likelihood.classes, len(inputs), {})
        targets, regressors = single_target(problem, self), []
        for number, level in enumerate(self.levels):
            each = HistGradientBoostingRegressor(loss="quantile", quantile=level, **options)
            regressors.append(each.fit(inputs, targets))
            work.count("tree_rows", self.trees * len(inputs))
            progress.report(number + 1, len(self.levels), float("nan"))
        return BoostedQuantiles(self.levels, tuple(regressors), {})

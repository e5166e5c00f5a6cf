"""Histogram gradient boosting of scikit-learn, stopped and given its noise by held-out rows.

Residuals of training rows say little about boosted trees, which can fit every row: both the number
of trees and the variance of a regression come from rows that the trees have not seen.

Sources: Friedman (2001), "Greedy Function Approximation: A Gradient Boosting Machine"; Ke et al.
(2017), "LightGBM: A Highly Efficient Gradient Boosting Decision Tree", for the histograms.
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
from bnnbench.methods.fitting import work
from bnnbench.methods.fitting.settings import require_between, require_count, require_positive
from bnnbench.methods.fitting.validation_search import set_aside
from bnnbench.methods.libraries.sklearn_rows import (
    ClassifierPosterior,
    OneClass,
    answers,
    fitted,
    labels,
    seed_of,
    single_target,
    vectors,
)
from bnnbench.methods.predictions.predictive import GaussianPredictive
from bnnbench.methods.trees.stopping import ClassPart, Part, RealPart, losses
from bnnbench.methods.tuning.rows import PARTS, held_out
from bnnbench.methods.tuning.space import Integers, Log, Space

LEAST_VARIANCE = 1e-6
"""Minimum variance of a prediction, in squared standardised target units."""


@dataclass(frozen=True)
class BoostedPosterior:
    """Fitted trees, and one variance for all points."""

    regressor: Any
    variance: float
    diagnostics: Mapping[str, float]

    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> GaussianPredictive:
        """Return one Gaussian per point; nothing is drawn."""
        means = torch.from_numpy(answers(self.regressor.predict, vectors(inputs)))
        means = means.double().reshape(1, -1, 1).to(inputs.device)
        return GaussianPredictive(means, torch.full_like(means, self.variance))


@dataclass(frozen=True)
class HistogramBoosting:
    """Gradient boosting with as many trees as predict held-out rows best, refitted to all rows.

    A regression holds out five blocks of rows in turn; its variance is their mean squared error at
    the best number of trees. A classification, whose rounds grow a tree for each class, holds out
    rows once. Calibration rows take the place of held-out rows if a problem brings them.
    """

    card: ClassVar[Card] = Card(
        "not a network", gradients=False, restarts="a few fits, whose state scikit-learn holds"
    )
    label: ClassVar[str] = "Histogram boosting"
    prior_use: ClassVar[PriorUse] = "none"
    space: ClassVar[Space] = Space(
        {
            "learning_rate": Log(0.05, 0.3),
            "leaves": Integers(4, 63),
            "least_rows": Integers(3, 40),
        }
    )

    learning_rate: float = 0.1
    """Share of each tree's prediction that is added."""
    leaves: int = 31
    """Maximum number of leaves of a tree."""
    least_rows: int = 20
    """Minimum number of training rows in a leaf."""
    most_trees: int = 400
    """Maximum number of rounds; in each, a regression grows one tree, and classes one each."""
    patience: int = 20
    """Rounds without a better prediction of held-out rows after which growth ends."""
    validation_share: float = 0.15
    """Share of rows held out by a classification."""

    def __post_init__(self) -> None:
        require_count(self, "most_trees", "patience", "least_rows")
        require_count(self, "leaves", least=2)
        require_positive(self, "learning_rate", "validation_share")
        require_between(self, 0.0, 1.0, "validation_share")

    def fit(self, problem: Problem, rng: torch.Generator) -> Posterior:
        """Return the fitted trees.

        Raises `Unsupported` for several targets, and for too few rows to hold some out.
        """
        seed = seed_of(rng)
        if isinstance(problem.likelihood, Categorical):
            return self._classifier(problem, problem.likelihood.classes, seed, rng)
        targets = single_target(problem, self)
        cases = held_out(problem, PARTS)
        parts = [RealPart.of(self._estimator(problem, seed), case) for case in cases]
        curve = losses(parts, self.most_trees, self.patience)
        regressor = self._estimator(problem, seed).set_params(max_iter=_best(curve))
        regressor.fit(vectors(problem.train.inputs), targets)
        work.count("tree_rows", _best(curve) * len(targets))
        variance = curve.min() / sum(len(case.block) for case in cases)
        variance = max(float(variance), LEAST_VARIANCE)
        diagnostics = self._diagnostics(curve) | {"noise_std": variance**0.5}
        return BoostedPosterior(regressor, variance, diagnostics)

    def _classifier(
        self, problem: Problem, classes: int, seed: int, rng: torch.Generator
    ) -> ClassifierPosterior:
        rows = len(problem.train)
        if len(seen := np.unique(labels(problem))) == 1:
            return ClassifierPosterior(OneClass(seen), classes, rows, {})
        rest, validation = set_aside(problem, self.validation_share, rng)
        part: Part = ClassPart(self._estimator(problem, seed), rest, validation)
        curve = losses([part], self.most_trees, self.patience)
        estimator = self._estimator(problem, seed).set_params(max_iter=_best(curve))
        classifier = fitted(estimator, problem)
        work.count("tree_rows", _best(curve) * classifier.n_trees_per_iteration_ * rows)
        return ClassifierPosterior(classifier, classes, rows, self._diagnostics(curve))

    def _estimator(self, problem: Problem, seed: int) -> Any:
        of_classes = isinstance(problem.likelihood, Categorical)
        kind: Any = HistGradientBoostingClassifier if of_classes else HistGradientBoostingRegressor
        return kind(
            learning_rate=self.learning_rate,
            max_leaf_nodes=self.leaves,
            min_samples_leaf=self.least_rows,
            early_stopping=False,
            random_state=seed,
        )

    def _diagnostics(self, curve: np.ndarray) -> dict[str, float]:
        """Return the chosen number of rounds, and whether fewer than the limit were best."""
        best = _best(curve)
        return {"rounds": float(best), "stopped": float(best < self.most_trees)}


def _best(curve: np.ndarray) -> int:
    return int(np.argmin(curve)) + 1

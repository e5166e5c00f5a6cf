"""Random forests of scikit-learn, each tree one draw.

A tree predicts a Gaussian: the mean and variance of the training rows in a leaf. The variance of
the forest is then the mean of variances plus the variance of means.

Sources: Breiman (2001), "Random Forests"; Hutter, Xu, Hoos and Leyton-Brown (2014), "Algorithm
Runtime Prediction: Methods and Evaluation", section 4.3, for the variance.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from torch import Tensor

from bnnbench.datasets.base import Categorical
from bnnbench.methods.base import Posterior, PriorUse, Problem
from bnnbench.methods.card import Card
from bnnbench.methods.fitting import progress, work
from bnnbench.methods.fitting.settings import require_count, require_positive
from bnnbench.methods.libraries.sklearn_rows import (
    answers,
    categorical,
    labels,
    of_all_classes,
    seed_of,
    single_target,
    vectors,
)
from bnnbench.methods.predictions.predictive import CategoricalPredictive, GaussianPredictive
from bnnbench.methods.tuning.space import Integers, Space


@dataclass(frozen=True)
class ForestPosterior:
    """A fitted forest."""

    forest: Any
    classes: int
    """Number of classes; 0 for a regression."""
    rows: int
    least_variance: float
    diagnostics: Mapping[str, float]

    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> CategoricalPredictive | GaussianPredictive:
        """Return the mixture of the trees; nothing is drawn."""
        points, trees = vectors(inputs), self.forest.estimators_
        if self.classes:
            seen = self.forest.classes_
            of_trees = (answers(tree.predict_proba, points) for tree in trees)
            votes = [of_all_classes(each, seen, self.classes) for each in of_trees]
            return categorical(np.stack(votes), self.rows, inputs)
        leaves = [(tree.tree_, answers(tree.apply, points)) for tree in trees]
        means = np.stack([tree.value[leaf, 0, 0] for tree, leaf in leaves])
        variances = np.stack([tree.impurity[leaf] for tree, leaf in leaves])
        pair = means, variances.clip(self.least_variance)
        return GaussianPredictive(
            *(torch.from_numpy(values)[..., None].to(inputs.device) for values in pair)
        )


@dataclass(frozen=True)
class SklearnForest:
    """A random forest of scikit-learn; each tree, with the spread in its leaves, is a draw."""

    card: ClassVar[Card] = Card("not a network")
    label: ClassVar[str] = "scikit-learn: random forest"
    prior_use: ClassVar[PriorUse] = "none"
    space: ClassVar[Space] = Space({"least_rows": Integers(1, 20)})

    trees: int = 200
    """Number of trees."""
    least_rows: int = 3
    """Minimum number of training rows in a leaf."""
    least_variance: float = 0.01
    """Minimum variance of a leaf, in squared standardised target units."""

    def __post_init__(self) -> None:
        require_count(self, "trees", "least_rows")
        require_positive(self, "least_variance")

    def fit(self, problem: Problem, rng: torch.Generator) -> Posterior:
        """Return the forest; raises `Unsupported` for several targets."""
        likelihood, rows = problem.likelihood, len(problem.train)
        classes = likelihood.classes if isinstance(likelihood, Categorical) else 0
        kind: Any = RandomForestClassifier if classes else RandomForestRegressor
        forest = kind(self.trees, min_samples_leaf=self.least_rows, random_state=seed_of(rng))
        targets = labels(problem) if classes else single_target(problem, self)
        forest.fit(vectors(problem.train.inputs), targets)
        work.count("tree_rows", self.trees * rows)
        progress.report(1, 1, float("nan"))
        leaves = float(np.mean([tree.get_n_leaves() for tree in forest.estimators_]))
        return ForestPosterior(
            forest, classes, rows, self.least_variance, {"leaves_per_tree": leaves}
        )

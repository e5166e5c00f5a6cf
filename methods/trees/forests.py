"""Random forests of scikit-learn, grown by the settings of a method."""

from typing import Any

import numpy as np
import torch
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from bnnbench.datasets.base import Categorical
from bnnbench.methods.base import Problem
from bnnbench.methods.fitting import progress, work
from bnnbench.methods.fitting.settings import require_positive
from bnnbench.methods.libraries.sklearn_rows import seed_of, vectors


def require_feature_share(method: Any) -> None:
    """Raise ValueError unless a method's feature_share is above 0 and at most 1."""
    require_positive(method, "feature_share")
    if method.feature_share > 1:
        raise ValueError(
            f"{type(method).__name__} needs feature_share of at most 1; got {method.feature_share}"
        )


def grown(method: Any, problem: Problem, targets: np.ndarray, rng: torch.Generator) -> Any:
    """Return the forest of a method's settings, fitted to the training rows."""
    of_classes = isinstance(problem.likelihood, Categorical)
    kind: Any = RandomForestClassifier if of_classes else RandomForestRegressor
    forest = kind(
        method.trees,
        min_samples_leaf=method.least_rows,
        max_features=method.feature_share,
        random_state=seed_of(rng),
    )
    forest.fit(vectors(problem.train.inputs), targets)
    work.count("tree_rows", method.trees * len(targets))
    progress.report(1, 1, float("nan"))
    return forest

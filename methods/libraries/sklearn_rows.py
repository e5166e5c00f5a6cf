"""Rows of a problem in the form of scikit-learn's estimators: vectors in double precision."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bnnbench.datasets.base import Categorical
from bnnbench.methods.base import Problem, Unsupported
from bnnbench.methods.predictions.predictive import CategoricalPredictive


def vectors(inputs: Tensor) -> np.ndarray:
    """Return inputs as rows of numbers, with an image as one vector."""
    return inputs.detach().cpu().double().flatten(1).numpy()


def labels(problem: Problem) -> np.ndarray:
    """Return the classes of training rows."""
    return problem.train.targets.cpu().long().numpy()


def single_target(problem: Problem, method: object) -> np.ndarray:
    """Return the real targets of training rows; raises `Unsupported` unless there is one."""
    targets = problem.train.targets
    if isinstance(problem.likelihood, Categorical):
        raise Unsupported(
            f"{type(method).__name__} needed a regression; got a classification of "
            f"{problem.likelihood.classes} classes: use the random forest, the gradient boosting "
            "or the Gaussian process of scikit-learn"
        )
    if targets.shape[1] != 1:
        raise Unsupported(
            f"{type(method).__name__} needed one target; got {targets.shape[1]}: fit one at a time"
        )
    return targets.cpu().double().numpy()[:, 0]


def answers(estimated: Callable[[np.ndarray], Any], points: np.ndarray) -> Any:
    """Return an estimator's array, or pair of arrays, with a row for each point.

    scikit-learn refuses to estimate no points: these are the first 0 rows of another answer.
    """
    if len(points):
        return estimated(points)
    one = estimated(np.zeros((1, points.shape[1])))
    return tuple(each[:0] for each in one) if isinstance(one, tuple) else one[:0]


def seed_of(rng: torch.Generator) -> int:
    """Return a seed for an estimator's `random_state`."""
    return int(torch.randint(2**31, (1,), generator=rng, device=rng.device))


def of_all_classes(probabilities: np.ndarray, seen: np.ndarray, classes: int) -> np.ndarray:
    """Return (points, classes) from the probabilities of the classes seen in training."""
    complete = np.zeros((len(probabilities), classes))
    complete[:, seen.astype(int)] = probabilities
    return complete


def categorical(probabilities: np.ndarray, rows: int, pattern: Tensor) -> CategoricalPredictive:
    """Return (draws, points, classes) as a predictive, slightly mixed with equal probabilities.

    Their weight is 1 / (rows + 1): a class that an estimator considers impossible would cost an
    infinite log loss.
    """
    share = 1 / (rows + 1)
    mixed = (1 - share) * probabilities + share / probabilities.shape[-1]
    return CategoricalPredictive(torch.from_numpy(np.log(mixed)).to(pattern.device))


@dataclass(frozen=True)
class OneClass:
    """The estimator for rows of a single class, which scikit-learn's own ones refuse or confuse."""

    classes_: np.ndarray

    def predict_proba(self, points: np.ndarray) -> np.ndarray:
        """Return a probability of 1 for each point."""
        return np.ones((len(points), 1))


@dataclass(frozen=True)
class ClassifierPosterior:
    """A fitted classifier of scikit-learn with `predict_proba`."""

    estimator: Any
    classes: int
    rows: int
    diagnostics: Mapping[str, float]

    def predict(self, inputs: Tensor, rng: torch.Generator) -> CategoricalPredictive:
        """Return the probabilities of one estimator; nothing is drawn."""
        probabilities = answers(self.estimator.predict_proba, vectors(inputs))
        complete = of_all_classes(probabilities, self.estimator.classes_, self.classes)
        return categorical(complete[None], self.rows, inputs)


def fitted(classifier: Any, problem: Problem) -> Any:
    """Return a classifier fitted to the training rows, or `OneClass` if they have only one."""
    seen = np.unique(labels(problem))
    if len(seen) == 1:
        return OneClass(seen)
    return classifier.fit(vectors(problem.train.inputs), labels(problem))

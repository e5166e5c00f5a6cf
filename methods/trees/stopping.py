"""Losses of held-out rows after each round of boosting, until they no longer fall."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float64

from bnnbench.datasets.base import Categorical, Split
from bnnbench.methods.base import Problem
from bnnbench.methods.fitting import progress, work
from bnnbench.methods.libraries.sklearn_rows import categorical, labels, of_all_classes, vectors
from bnnbench.methods.tuning.rows import HeldOut


@runtime_checkable
class Part(Protocol):
    """An estimator that grows on some rows and is scored on others."""

    def grow(self, rounds: int) -> None:
        """Continue until the estimator has this number of rounds."""
        ...

    def losses(self) -> Float64[np.ndarray, " rounds"]:
        """Return the sum of the held-out rows' losses after each round."""
        ...


def losses(parts: Sequence[Part], most: int, patience: int) -> Float64[np.ndarray, " rounds"]:
    """Return the summed losses of all parts after each round.

    Growth ends after `most` rounds, or when the least sum is `patience` rounds old. It is looked at
    after `patience` rounds, and then each time the rounds have grown by half.
    """
    rounds, curve = 0, np.zeros(0)
    while rounds < most and rounds - (np.argmin(curve) + 1 if rounds else 0) < patience:
        rounds = min(max(rounds + patience, rounds * 3 // 2), most)
        for part in parts:
            part.grow(rounds)
        curve = np.sum([part.losses() for part in parts], 0)
        progress.report(rounds, most, float("nan"))
    return curve


@dataclass(frozen=True)
class RealPart:
    """A regressor of scikit-learn and its squared errors, in the units of the whole problem."""

    estimator: Any
    case: HeldOut

    @classmethod
    def of(cls, estimator: Any, case: HeldOut) -> "RealPart":
        """Return the part of an estimator that has not been fitted."""
        return cls(estimator.set_params(warm_start=True), case)

    def grow(self, rounds: int) -> None:
        """Continue until the estimator has this number of rounds."""
        train = self.case.problem.train
        grown = getattr(self.estimator, "n_iter_", 0)
        targets = train.targets[:, 0].double().cpu().numpy()
        self.estimator.set_params(max_iter=rounds).fit(vectors(train.inputs), targets)
        work.count("tree_rows", (rounds - grown) * len(train))

    def losses(self) -> Float64[np.ndarray, " rounds"]:
        """Return the sum of the held-out rows' squared errors after each round."""
        case = self.case
        targets = case.block.targets[:, 0].double().cpu().numpy()
        staged = self.estimator.staged_predict(vectors(case.inputs))
        means = (case.target_mean + case.target_std * each for each in staged)
        return np.array([np.square(each - targets).sum() for each in means])


@dataclass(frozen=True)
class ClassPart:
    """A classifier of scikit-learn and its log losses; rows of one class are always one round."""

    estimator: Any
    problem: Problem
    validation: Split

    def grow(self, rounds: int) -> None:
        """Continue until the estimator has this number of rounds."""
        if self._has_one_class:
            return
        grown = getattr(self.estimator, "n_iter_", 0)
        self.estimator.set_params(max_iter=rounds, warm_start=True)
        self.estimator.fit(vectors(self.problem.train.inputs), labels(self.problem))
        trees = (rounds - grown) * self.estimator.n_trees_per_iteration_
        work.count("tree_rows", trees * len(self.problem.train))

    def losses(self) -> Float64[np.ndarray, " rounds"]:
        """Return the sum of the held-out rows' log losses after each round."""
        if self._has_one_class:
            return np.zeros(1)
        assert isinstance(self.problem.likelihood, Categorical)
        classes, rows = self.problem.likelihood.classes, len(self.problem.train)
        sums = []
        for probabilities in self.estimator.staged_predict_proba(vectors(self.validation.inputs)):
            complete = of_all_classes(probabilities, self.estimator.classes_, classes)
            prediction = categorical(complete[None], rows, self.validation.inputs)
            sums.append(-float(prediction.log_prob(self.validation.targets).sum()))
        return np.array(sums)

    @property
    def _has_one_class(self) -> bool:
        return bool((self.problem.train.targets == self.problem.train.targets[0]).all())

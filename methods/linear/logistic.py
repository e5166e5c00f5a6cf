r"""Logistic regression on the inputs, penalised by $|W|^2 / (2C)$, with C by cross-validation.

Source: Hastie, Tibshirani and Friedman (2009), "The Elements of Statistical Learning", sections
4.4 and 7.10.
"""

import copy
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression as Estimator

from bnnbench.datasets.base import Categorical
from bnnbench.methods.base import Posterior, PriorUse, Problem, Unsupported
from bnnbench.methods.card import Card
from bnnbench.methods.fitting import progress, work
from bnnbench.methods.fitting.settings import require_count
from bnnbench.methods.libraries.sklearn_rows import ClassifierPosterior, fitted
from bnnbench.methods.tuning.rows import PARTS, HeldOut, held_out
from bnnbench.methods.tuning.space import Space


@dataclass(frozen=True)
class LogisticRegression:
    """Logistic regression whose C has the least log loss on five held-out blocks of rows.

    Calibration rows take the place of the blocks if a problem brings them. Rows of equal inputs are
    held out together. It ignores the network.
    """

    card: ClassVar[Card] = Card(
        "not a network",
        problems=("mlp classification", "cnn classification"),
        gradients=False,
        restarts="a few convex searches, whose state scikit-learn holds",
    )
    label: ClassVar[str] = "Logistic regression"
    prior_use: ClassVar[PriorUse] = "own"
    space: ClassVar[Space] = Space()

    strengths: tuple[float, ...] = (1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1e3)
    """Values of C to choose from, in ascending order."""
    iterations: int = 1000
    """Maximum number of iterations of L-BFGS for each value."""

    def __post_init__(self) -> None:
        require_count(self, "iterations")
        increase = list(self.strengths) == sorted({*self.strengths})
        if not (self.strengths and increase and self.strengths[0] > 0):
            raise ValueError(
                f"LogisticRegression needs positive strengths that increase; got {self.strengths}"
            )

    def fit(self, problem: Problem, rng: torch.Generator) -> Posterior:
        """Return the model; the stream is not used.

        Raises `Unsupported` for a regression, and for fewer than ten rows.
        """
        if not isinstance(problem.likelihood, Categorical):
            raise Unsupported(
                f"LogisticRegression needed classes; got {problem.likelihood}: use BayesianLinear"
            )
        losses = np.sum([self._losses(*place) for place in enumerate(held_out(problem, PARTS))], 0)
        best = int(np.argmin(losses))
        with progress.part(PARTS, PARTS + 1):
            chosen = self._path(problem, self.strengths[: best + 1])[-1]
        inside = 0 < best < len(losses) - 1
        diagnostics = dict(chosen.diagnostics) | {
            "strength": self.strengths[best],
            "strength_inside_grid": float(inside),
        }
        return replace(chosen, diagnostics=diagnostics)

    def _losses(self, number: int, case: HeldOut) -> np.ndarray:
        """Return the summed log loss of a block's rows for each C."""
        with progress.part(number, PARTS + 1):
            fits = self._path(case.problem, self.strengths)
        predictions = [fit.predict(case.inputs, torch.Generator()) for fit in fits]
        return np.array([-float(p.log_prob(case.block.targets).sum()) for p in predictions])

    def _path(self, problem: Problem, strengths: Sequence[float]) -> list[ClassifierPosterior]:
        """Return the model for each C; a search starts at the weights of the one before."""
        assert isinstance(problem.likelihood, Categorical)
        estimator: Any = Estimator(max_iter=self.iterations, warm_start=True)
        models = []
        for number, strength in enumerate(strengths):
            estimator.set_params(C=strength)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # a diagnostic says so
                model = copy.deepcopy(fitted(estimator, problem))
            iterations = int(np.max(getattr(model, "n_iter_", 0)))
            work.count("gradient_rows", iterations * len(problem.train))
            progress.report(number + 1, len(strengths), float("nan"))
            converged = {"converged": float(iterations < self.iterations)}
            classes, rows = problem.likelihood.classes, len(problem.train)
            models.append(ClassifierPosterior(model, classes, rows, converged))
        return models

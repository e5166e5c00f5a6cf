"""Gaussian processes of scikit-learn: exact for regression, Laplace's approximation for classes.

One length scale serves all features, and classes are fitted one against the rest. Our own
`GaussianProcess` has a length scale for each feature, and chooses its kernel.

Source: Rasmussen and Williams (2006), "Gaussian Processes for Machine Learning", algorithms 2.1,
3.1 and 3.2.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from scipy.optimize import minimize
from sklearn import gaussian_process
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import kernels as gp_kernels
from torch import Tensor

from bnnbench.datasets.base import Categorical
from bnnbench.methods.base import Posterior, PriorUse, Problem, Unsupported
from bnnbench.methods.card import Card
from bnnbench.methods.fitting import work
from bnnbench.methods.fitting.settings import require_count
from bnnbench.methods.libraries.sklearn_rows import (
    ClassifierPosterior,
    answers,
    fitted,
    seed_of,
    single_target,
    vectors,
)
from bnnbench.methods.predictions.predictive import GaussianPredictive
from bnnbench.methods.tuning.space import Space

# The stubs of scikit-learn do not allow sums of kernels.
kernels: Any = gp_kernels
LENGTHS, VARIANCES, NOISES = (1e-2, 1e3), (1e-3, 1e3), (1e-6, 1e1)
"""Bounds of the length scale, in standardised inputs, and of variances, in standardised targets."""
POINTS_AT_ONCE = 1000


def _counted(objective: Any, start: Any, bounds: Any) -> tuple[Any, float]:
    """Return the best settings of a kernel by scikit-learn's own search, with its work counted."""
    optimum = minimize(objective, start, method="L-BFGS-B", jac=True, bounds=bounds)
    work.count("factorisations", int(optimum.nfev))
    return optimum.x, float(optimum.fun)


@dataclass(frozen=True)
class GpPosterior:
    """A fitted `GaussianProcessRegressor`, whose kernel includes the noise."""

    process: Any
    diagnostics: Mapping[str, float]

    def predict(
        self, inputs: Float[Tensor, "points *features"], rng: torch.Generator
    ) -> GaussianPredictive:
        """Return one Gaussian per point, including noise; nothing is drawn."""
        estimated = partial(self.process.predict, return_std=True)
        pairs = [answers(estimated, vectors(part)) for part in inputs.split(POINTS_AT_ONCE)]
        means, stds = (torch.cat([torch.from_numpy(p[i]) for p in pairs]) for i in (0, 1))
        both = means, stds.square()
        return GaussianPredictive(*(values.reshape(1, -1, 1).to(inputs.device) for values in both))


@dataclass(frozen=True)
class SklearnGp:
    """A Gaussian process of scikit-learn, with one length scale for all features."""

    card: ClassVar[Card] = Card("Gaussian processes")
    label: ClassVar[str] = "scikit-learn: Gaussian process"
    prior_use: ClassVar[PriorUse] = "own"
    space: ClassVar[Space] = Space()

    restarts: int = 0
    """Number of searches for kernel settings from random starts, after one from a fixed start."""
    most_rows: int = 3000
    """Maximum number of rows: every step of the search factorises all covariances."""

    def __post_init__(self) -> None:
        require_count(self, "restarts", least=0)
        require_count(self, "most_rows")

    def fit(self, problem: Problem, rng: torch.Generator) -> Posterior:
        """Return the posterior; raises `Unsupported` for several targets or too many rows."""
        if (rows := len(problem.train)) > self.most_rows:
            raise Unsupported(
                f"SklearnGp needed at most {self.most_rows:,} rows; got {rows:,}. A larger "
                "most_rows allows more, in time that grows with their cube"
            )
        inputs, likelihood = vectors(problem.train.inputs), problem.likelihood
        signal = kernels.ConstantKernel(1.0, VARIANCES) * kernels.RBF(
            inputs.shape[1] ** 0.5, LENGTHS
        )
        options: Any = {"n_restarts_optimizer": self.restarts, "random_state": seed_of(rng)}
        options["optimizer"] = _counted
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a setting at its bound
            if isinstance(likelihood, Categorical):
                classifier: Any = gaussian_process.GaussianProcessClassifier(signal, **options)
                return ClassifierPosterior(
                    fitted(classifier, problem), likelihood.classes, rows, {}
                )
            targets, known = single_target(problem, self), likelihood.noise_std
            noise = (
                kernels.WhiteKernel(0.1, NOISES)
                if known is None
                else kernels.WhiteKernel(known**2, "fixed")
            )
            process: Any = gaussian_process.GaussianProcessRegressor(
                signal + noise, alpha=0.0, **options
            )
            process.fit(inputs, targets)
        diagnostics = {
            "log_marginal_likelihood_per_row": float(process.log_marginal_likelihood_value_) / rows,
            "noise_std": float(process.kernel_.k2.noise_level) ** 0.5,
        }
        return GpPosterior(process, diagnostics)

"""Exact Gaussian process regression with the kernel of maximum marginal likelihood.

Source: Rasmussen and Williams (2006), "Gaussian Processes for Machine Learning", algorithm 2.1 and
section 5.4; by scikit-learn.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float
from sklearn import gaussian_process
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import kernels as gp_kernels
from torch import Tensor

from bnnbench.methods.base import InferenceDiverged, Posterior, PriorUse, Problem, Unsupported
from bnnbench.methods.card import Card
from bnnbench.methods.fitting import progress, work
from bnnbench.methods.fitting.settings import require_count
from bnnbench.methods.gp.evidence import CORRELATIONS, evidence
from bnnbench.methods.gp.training import require_single_target
from bnnbench.methods.libraries.sklearn_rows import answers
from bnnbench.methods.predictions.predictive import GaussianPredictive
from bnnbench.methods.tuning.space import Space

SMOOTHNESS: Mapping[str, float] = {"matern32": 1.5, "matern52": 2.5}
LENGTHS, VARIANCES, NOISES = (1e-2, 1e3), (1e-3, 1e3), (1e-6, 1e1)
"""Bounds of length scales, in standardised inputs, and of variances, in standardised targets."""
POINTS_AT_ONCE = 1000


class _Regressor(gaussian_process.GaussianProcessRegressor):
    """Scikit-learn's regressor, with its factorisations counted and a faster gradient."""

    def log_marginal_likelihood(
        self, theta: Any = None, eval_gradient: bool = False, clone_kernel: bool = True
    ) -> Any:
        if theta is not None:  # else scikit-learn returns the stored value
            work.count("factorisations", 1)
        if not eval_gradient:
            return super().log_marginal_likelihood(theta, clone_kernel=clone_kernel)
        fitted: Any = self
        kernel = fitted.kernel_.clone_with_theta(theta)
        variance, correlation, noise = kernel.k1.k1, kernel.k1.k2, kernel.k2
        value, gradient = evidence(
            CORRELATIONS[_name_of(correlation)],
            *(fitted.X_train_, fitted.y_train_),
            *(variance.constant_value, np.atleast_1d(correlation.length_scale), noise.noise_level),
        )
        return value, gradient[: len(kernel.theta)]  # a known noise is the last, and no setting

    def fit(self, X: Any, y: Any) -> Any:
        work.count("factorisations", 1)
        return super().fit(X, y)


# The stubs of scikit-learn allow neither arrays of length scales nor `optimizer=None`.
Regressor: Any = _Regressor
kernels: Any = gp_kernels


@dataclass(frozen=True)
class ExactGpPosterior:
    """A Gaussian process conditioned on all training rows."""

    process: Any
    """A fitted `GaussianProcessRegressor` without noise in its predictions."""
    noise_variance: float
    """Variance of the noise, in squared standardised target units."""
    diagnostics: Mapping[str, float]

    def predict(
        self, inputs: Float[Tensor, "points features"], rng: torch.Generator
    ) -> GaussianPredictive:
        """Return one Gaussian per point, including noise."""
        means, variances = [], []
        estimated = partial(self.process.predict, return_std=True)
        for points in inputs.cpu().double().split(POINTS_AT_ONCE):
            mean, std = answers(estimated, points.numpy())
            means.append(mean)
            variances.append(std**2 + self.noise_variance)
        pair = (torch.from_numpy(np.concatenate(values)) for values in (means, variances))
        return GaussianPredictive(*(values.reshape(1, -1, 1).to(inputs.device) for values in pair))


@dataclass(frozen=True)
class GaussianProcess:
    """A Gaussian process with a length scale for each feature and Gaussian noise.

    Time grows with the cube of the number of rows, memory with its square.
    """

    card: ClassVar[Card] = Card(
        "Gaussian processes",
        problems=("mlp regression", "linear regression"),
        restarts="a few searches of kernels, whose state scikit-learn holds",
    )

    kernels: tuple[str, ...] = ("rbf", "matern52")
    """Kernels to fit; the one with the maximum marginal likelihood predicts."""
    restarts: int = 1
    """Number of searches for kernel settings from random starts, after one from a fixed start."""
    rows_for_kernel: int = 500
    """Number of random rows whose marginal likelihood selects the kernel; the fit uses all rows."""
    most_rows: int = 10_000
    """Maximum number of rows, limited by the memory of their covariances."""

    space = Space()
    prior_use: ClassVar[PriorUse] = "own"

    def __post_init__(self) -> None:
        require_count(self, "restarts", least=0)
        require_count(self, "rows_for_kernel", "most_rows")
        if not self.kernels or {*self.kernels} - {"rbf", *SMOOTHNESS}:
            choices = ", ".join(("rbf", *SMOOTHNESS))
            raise ValueError(f"GaussianProcess needs kernels out of {choices}; got {self.kernels}")

    def fit(self, problem: Problem, rng: torch.Generator) -> Posterior:
        """Return the posterior; raises `Unsupported` for more than `most_rows` rows."""
        noise_std = require_single_target(problem, self)
        train = problem.train
        if len(train) > self.most_rows:
            raise Unsupported(
                f"GaussianProcess needed at most {self.most_rows:,} rows, whose covariances fit "
                f"into memory; got {len(train):,}. A larger most_rows allows more"
            )
        inputs, targets = train.inputs.cpu().double().numpy(), train.targets.cpu().double().numpy()
        seed = int(torch.randint(2**31, (1,), generator=rng, device=rng.device))
        some = np.random.default_rng(seed).permutation(len(train))[: self.rows_for_kernel]
        learned = [
            self._learned(kernel, number, inputs[some], targets[some, 0], noise_std, seed)
            for number, kernel in enumerate(self.kernels)
        ]
        best = int(np.argmax([each.log_marginal_likelihood_value_ for each in learned]))
        signal, noise = learned[best].kernel_.k1, float(learned[best].kernel_.k2.noise_level)
        process = Regressor(signal, alpha=noise, optimizer=None)
        try:
            process.fit(inputs, targets[:, 0])
        except np.linalg.LinAlgError as failure:
            raise InferenceDiverged(f"covariances are not positive definite: {failure}") from None
        diagnostics = {
            "log_marginal_likelihood_per_row": float(process.log_marginal_likelihood_value_)
            / len(train),
            "noise_std": noise**0.5,
            "kernel": float(best),
        }
        return ExactGpPosterior(process, noise, diagnostics)

    def _learned(
        self,
        kernel: str,
        number: int,
        inputs: np.ndarray,
        targets: np.ndarray,
        noise_std: float | None,
        seed: int,
    ) -> Any:
        """Return a process with the kernel of maximum marginal likelihood for these rows."""
        noise = (
            kernels.WhiteKernel(0.1, NOISES)
            if noise_std is None
            else kernels.WhiteKernel(noise_std**2, "fixed")
        )
        lengths = np.full(inputs.shape[1], inputs.shape[1] ** 0.5)
        process = Regressor(
            kernels.ConstantKernel(1.0, VARIANCES) * _correlation(kernel, lengths) + noise,
            alpha=0.0,
            n_restarts_optimizer=self.restarts,
            random_state=seed,
        )
        with warnings.catch_warnings():
            # A feature whose length scale is at its bound has no influence.
            warnings.simplefilter("ignore", ConvergenceWarning)
            try:
                process.fit(inputs, targets)
            except np.linalg.LinAlgError as failure:
                raise InferenceDiverged(f"a {kernel} kernel is singular: {failure}") from None
        progress.report(number + 1, len(self.kernels), -process.log_marginal_likelihood_value_)
        return process


def _name_of(correlation: Any) -> str:
    names = {smoothness: name for name, smoothness in SMOOTHNESS.items()}
    return names[correlation.nu] if isinstance(correlation, gp_kernels.Matern) else "rbf"


def _correlation(name: str, lengths: np.ndarray) -> Any:
    if name == "rbf":
        return kernels.RBF(lengths, LENGTHS)
    return kernels.Matern(lengths, LENGTHS, nu=SMOOTHNESS[name])

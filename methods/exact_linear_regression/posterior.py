r"""The exact posterior of a linear model with known noise.

$$ w \sim N(0, \tau^2 I), \quad y \mid x, w \sim N(w^T x, \sigma^2) \quad \Rightarrow \quad
   w \mid D \sim N(m, P^{-1}), \quad P = X^T X / \sigma^2 + I / \tau^2, \quad
   P m = X^T y / \sigma^2. $$

Source: Bishop (2006), "Pattern Recognition and Machine Learning", equations 3.53, 3.54 and 3.58.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from bnnbench.datasets.base import Gaussian
from bnnbench.methods.base import Problem, Unsupported
from bnnbench.methods.fitting import work
from bnnbench.methods.networks.architectures import Linear
from bnnbench.methods.predictions.predictive import GaussianPredictive


@dataclass(frozen=True)
class LinearPosterior:
    """A Gaussian over the weights of a linear model."""

    mean: Float64[Tensor, " features"]
    precision_root: Float64[Tensor, "features features"]
    """Lower triangular factor L of the precision L Lᵀ."""
    noise_std: float

    @property
    def diagnostics(self) -> dict[str, float]:
        """Return no diagnostics: the posterior is exact."""
        return {}

    @property
    def covariance(self) -> Float64[Tensor, "features features"]:
        """The covariance of the weights."""
        return torch.cholesky_inverse(self.precision_root)

    def draws(self, count: int, rng: torch.Generator) -> Float64[Tensor, "draws features"]:
        """Return weights drawn from the posterior."""
        shape = count, len(self.mean)
        normal = torch.randn(shape, generator=rng, dtype=torch.float64, device=rng.device)
        offsets = torch.linalg.solve_triangular(self.precision_root.T, normal.T, upper=True)
        return self.mean + offsets.T

    def of_function(
        self, inputs: Float[Tensor, "points features"]
    ) -> tuple[Float64[Tensor, " points"], Float64[Tensor, " points"]]:
        """Return mean and variance of wᵀx at each point, without noise."""
        x = inputs.double()
        scaled = torch.linalg.solve_triangular(self.precision_root, x.T, upper=False)
        return x @ self.mean, scaled.square().sum(0)

    def predict(
        self, inputs: Float[Tensor, "points features"], rng: torch.Generator
    ) -> GaussianPredictive:
        """Return the exact predictive; the stream is not used."""
        mean, variance = self.of_function(inputs)
        return GaussianPredictive(
            mean[None, :, None], (variance + self.noise_std**2)[None, :, None]
        )


def exact_posterior(problem: Problem, prior_std: float) -> LinearPosterior:
    """Return the posterior of a linear model without bias.

    Raises `Unsupported` for another network, several targets, or unknown noise.
    """
    likelihood = problem.likelihood
    if problem.architecture != (Linear(1, bias=False),):
        raise Unsupported(
            "needed a linear model, architecture=(Linear(1, bias=False),); got "
            f"{problem.architecture}"
        )
    if not isinstance(likelihood, Gaussian) or likelihood.noise_std is None:
        raise Unsupported(f"needed a regression with known noise; got {likelihood}")
    x, y = problem.train.inputs.double(), problem.train.targets.double()
    variance = likelihood.noise_std**2
    identity = torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
    work.count("factorisations", 1)
    root = torch.linalg.cholesky(x.T @ x / variance + identity / prior_std**2)
    mean = torch.cholesky_solve(x.T @ y / variance, root)[:, 0]
    return LinearPosterior(mean, root, likelihood.noise_std)

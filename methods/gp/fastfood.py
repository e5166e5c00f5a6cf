"""A Gaussian process with random frequencies from products of Hadamard matrices (Fastfood, FF).

The problem's network is not used. Source: Le, Sarlós and Smola (2013), "Fastfood: Approximating
Kernel Expansions in Loglinear Time", sections 3 and 4.1.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float, Float64, Int
from scipy.optimize import minimize
from torch import Tensor

from bnnbench.methods.base import InferenceDiverged, Posterior, PriorUse, Problem, Unsupported
from bnnbench.methods.card import Card
from bnnbench.methods.fitting import progress, work
from bnnbench.methods.fitting.settings import require_count
from bnnbench.methods.gp.training import require_single_target
from bnnbench.methods.predictions.predictive import GaussianPredictive
from bnnbench.methods.tuning.space import Choice, Space

BOUNDS = {"length": (-5.0, 7.0), "signal_std": (-4.0, 4.0), "noise_std": (-7.0, 1.5)}
"""Bounds of logarithms: lengths in standardised inputs, standard deviations in standardised
targets."""
POINTS_AT_ONCE = 4096
MOST_FEATURES = 256
"""A block has a frequency for each feature, rounded up to a power of two; the search factorises the
precision of all of them. 256 features take 4 s for 20 rows, and 257 to 512 features 26 s."""


@dataclass(frozen=True)
class Frequencies:
    """Blocks of $S H G \\Pi H B / \\sqrt d$, whose rows have the lengths of Gaussian vectors."""

    signs: Float64[Tensor, "blocks d"]
    order: Int[Tensor, "blocks d"]
    gaussian: Float64[Tensor, "blocks d"]
    lengths: Float64[Tensor, "blocks d"]

    @classmethod
    def draw(cls, features: int, count: int, rng: torch.Generator) -> "Frequencies":
        """Return at least `count` frequencies: whole blocks of the next power of two."""
        d = 1 << max(features - 1, 0).bit_length()
        blocks = math.ceil(count / d)
        device = {"generator": rng, "device": rng.device}
        gaussian = torch.randn(blocks, d, **device, dtype=torch.float64)
        # The length of a Gaussian vector of d numbers replaces the length of a row of H G.
        chi = torch.randn(blocks, d, d, **device, dtype=torch.float64).norm(dim=-1)
        return cls(
            torch.randint(2, (blocks, d), **device).double() * 2 - 1,
            torch.stack([torch.randperm(d, **device) for _ in range(blocks)]),
            gaussian,
            chi / gaussian.norm(dim=-1, keepdim=True),
        )

    def __call__(self, inputs: Float64[Tensor, "rows features"]) -> Float64[Tensor, "rows waves"]:
        """Return the products of all frequencies with each row."""
        blocks, d = self.signs.shape
        padded = torch.nn.functional.pad(inputs, (0, d - inputs.shape[1]))
        mixed = hadamard(padded[:, None] * self.signs)
        moved = mixed.gather(-1, self.order.expand(len(inputs), blocks, d))
        return (hadamard(moved * self.gaussian) * self.lengths / d**0.5).flatten(1)


def hadamard(values: Float64[Tensor, "*rows d"]) -> Float64[Tensor, "*rows d"]:
    """Return the product with the unnormalised Hadamard matrix, in d log d steps."""
    half, shape = 1, values.shape
    while half < shape[-1]:
        first, second = values.reshape(*shape[:-1], shape[-1] // (2 * half), 2, half).unbind(-2)
        values = torch.stack([first + second, first - second], -2).reshape(shape)
        half *= 2
    return values


@dataclass(frozen=True)
class Kernel:
    """A squared exponential kernel with a length for each feature, and noise, all in logarithms."""

    log_lengths: Float64[Tensor, " features"]
    log_signal_std: Float64[Tensor, ""]
    log_noise_std: Float64[Tensor, ""]

    @classmethod
    def of(cls, numbers: Float64[Tensor, " numbers"], noise_std: float | None) -> "Kernel":
        """Return the kernel given by a vector; a known noise is not part of the vector."""
        known = None if noise_std is None else numbers.new_tensor(math.log(noise_std))
        cut = len(numbers) - (2 if known is None else 1)
        return cls(numbers[:cut], numbers[cut], numbers[-1] if known is None else known)

    @property
    def noise_variance(self) -> Float64[Tensor, ""]:
        """The variance of targets around the function."""
        return (2 * self.log_noise_std).exp()

    def waves(
        self, inputs: Float[Tensor, "rows features"], frequencies: Frequencies
    ) -> Float64[Tensor, "rows waves"]:
        """Return cosines and sines, whose inner products approximate the kernel without noise."""
        angles = frequencies(inputs.double() / self.log_lengths.exp())
        scale = self.log_signal_std.exp() / angles.shape[1] ** 0.5
        return scale * torch.cat([angles.cos(), angles.sin()], 1)

    def posterior(
        self, waves: Float64[Tensor, "rows waves"], targets: Float64[Tensor, " rows"]
    ) -> tuple[Float64[Tensor, "waves waves"], Float64[Tensor, " waves"], Float64[Tensor, ""]]:
        r"""Return the factor of $\Phi^T\Phi / \sigma^2 + I$, the mean weights and the evidence.

        The evidence is the log marginal likelihood of the targets. Raises `InferenceDiverged`.
        """
        precision = waves.T @ waves / self.noise_variance
        precision = precision + torch.eye(len(precision)).to(precision)
        factor, failed = torch.linalg.cholesky_ex(precision)
        if failed:
            raise InferenceDiverged("the precision of the waves' weights is singular")
        projected = waves.T @ targets / self.noise_variance
        mean = torch.cholesky_solve(projected[:, None], factor)[:, 0]
        fit = targets.square().sum() / self.noise_variance - projected @ mean
        spread = 2 * factor.diagonal().log().sum() + len(targets) * (2 * self.log_noise_std)
        evidence = -0.5 * (fit + spread + len(targets) * math.log(2 * math.pi))
        work.count("factorisations", 1)
        return factor, mean, evidence


@dataclass(frozen=True)
class FastfoodPosterior:
    """A Gaussian over the weights of cosines and sines."""

    kernel: Kernel
    frequencies: Frequencies
    factor: Float64[Tensor, "waves waves"]
    mean: Float64[Tensor, " waves"]
    diagnostics: Mapping[str, float]

    def predict(
        self, inputs: Float[Tensor, "points features"], rng: torch.Generator
    ) -> GaussianPredictive:
        """Return one Gaussian per point, including noise."""
        means, variances = [], []
        for points in inputs.split(POINTS_AT_ONCE):
            waves = self.kernel.waves(points, self.frequencies)
            spread = torch.linalg.solve_triangular(self.factor, waves.T, upper=False)
            means.append(waves @ self.mean)
            variances.append(spread.square().sum(0) + self.kernel.noise_variance)
        both = (torch.cat(values).reshape(1, -1, 1) for values in (means, variances))
        return GaussianPredictive(*both)


@dataclass(frozen=True)
class Fastfood:
    """Bayesian linear regression on cosines and sines of Fastfood's frequencies.

    Lengths, signal and noise maximise the marginal likelihood of some rows.
    """

    card: ClassVar[Card] = Card(
        "Gaussian processes",
        problems=("mlp regression", "linear regression"),
        restarts="a search of seconds, whose state SciPy holds",
    )
    prior_use: ClassVar[PriorUse] = "own"
    space: ClassVar[Space] = Space({"frequencies": Choice((128, 256, 512))})

    frequencies: int = 256
    """Number of frequencies, rounded up to whole blocks; each has a cosine and a sine."""
    rows_for_kernel: int = 2000
    """Number of random rows whose marginal likelihood selects the kernel; the fit uses all rows."""
    iterations: int = 100
    """Maximum number of steps in this search."""

    def __post_init__(self) -> None:
        require_count(self, "frequencies", "rows_for_kernel", "iterations")

    def fit(self, problem: Problem, rng: torch.Generator) -> Posterior:
        """Return the posterior; raises `InferenceDiverged` if no kernel can be factorised.

        Raises `Unsupported` for more features than `frequencies` and `MOST_FEATURES`.
        """
        noise_std = require_single_target(problem, self)
        self._check_features(problem.train.inputs.shape[1])
        inputs, targets = problem.train.inputs.double(), problem.train.targets[:, 0].double()
        frequencies = Frequencies.draw(inputs.shape[1], self.frequencies, rng)
        some = torch.randperm(len(inputs), generator=rng, device=rng.device)[: self.rows_for_kernel]
        numbers = self._learned(inputs[some], targets[some], frequencies, noise_std)
        kernel = Kernel.of(numbers, noise_std)
        factor, mean, evidence = kernel.posterior(kernel.waves(inputs, frequencies), targets)
        diagnostics = {
            "log_marginal_likelihood_per_row": float(evidence) / len(targets),
            "noise_std": float(kernel.noise_variance.sqrt()),
        }
        return FastfoodPosterior(kernel, frequencies, factor, mean, diagnostics)

    def _check_features(self, features: int) -> None:
        most = max(MOST_FEATURES, self.frequencies)
        if features > most:
            raise Unsupported(
                f"Fastfood needed at most {most:,} features, since it has a frequency or more for "
                f"each; got {features:,}: raise frequencies to {features:,} if its cube is an "
                "affordable time, or use GaussianProcess"
            )

    def _learned(
        self,
        inputs: Float64[Tensor, "rows features"],
        targets: Float64[Tensor, " rows"],
        frequencies: Frequencies,
        noise_std: float | None,
    ) -> Float64[Tensor, " numbers"]:
        """Return the parameters of the kernel of maximum evidence, searched from a fixed start."""
        features = inputs.shape[1]
        start = [math.log(features) / 2] * features + [0.0] + [math.log(0.3)] * (noise_std is None)
        bounds = [BOUNDS["length"]] * features + [BOUNDS["signal_std"]]
        bounds += [BOUNDS["noise_std"]] * (noise_std is None)
        steps = 0

        def loss(values: np.ndarray) -> tuple[float, np.ndarray]:
            numbers = torch.tensor(values, device=inputs.device, requires_grad=True)
            kernel = Kernel.of(numbers, noise_std)
            _, _, evidence = kernel.posterior(kernel.waves(inputs, frequencies), targets)
            per_row = -evidence / len(targets)
            (slope,) = torch.autograd.grad(per_row, numbers)
            return float(per_row.detach()), slope.cpu().numpy()

        def follow(intermediate_result: Any) -> None:
            nonlocal steps
            steps += 1
            progress.report(steps, self.iterations, float(intermediate_result.fun))

        optimum = minimize(
            loss, start, jac=True, method="L-BFGS-B", bounds=bounds, callback=follow,
            options={"maxiter": self.iterations},
        )  # fmt: skip
        if not np.isfinite(optimum.fun):
            raise InferenceDiverged("the marginal likelihood is not finite")
        return torch.tensor(optimum.x, device=inputs.device)

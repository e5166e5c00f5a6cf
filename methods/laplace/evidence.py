r"""The evidence of Laplace's approximation, and the precisions that maximise it.

Let h be the eigenvalues of the Gauss-Newton matrix for noise of variance 1, δ the precision of the
prior, β the precision of the noise, w the D weights that are not fixed and E half the sum of M
squared errors. Then

$$ \log Z = \tfrac M2 \log\frac{\beta}{2\pi} - \beta E - \tfrac\delta2 |w|^2
   + \tfrac D2 \log\delta - \tfrac12 \sum_i \log(\beta h_i + \delta). $$

For a classifier, β = 1 and minus its summed loss replaces the first two terms. Only training rows
are used, and the network is not trained again.

Sources: MacKay (1992), "A Practical Bayesian Framework for Backpropagation Networks"; Immer et
al. (2021), "Scalable Marginal Likelihood Estimation for Model Selection in Deep Learning".
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64
from scipy.optimize import minimize

PRECISIONS = 1e-6, 1e8
"""Minimum and maximum value of both precisions, in standardised units."""
STARTS = 1e-2, 1.0, 1e2
"""Initial precisions of the prior: the evidence may have more than one maximum."""


@dataclass(frozen=True)
class Evidence:
    """All quantities that the evidence depends on, except the precisions."""

    eigenvalues: Float64[np.ndarray, " directions"]
    squared_norm: float
    """|w|²."""
    misfit: float
    """E of a regression, the summed loss of a classifier."""
    targets: int | None
    """M; None for a classifier."""

    def log(self, prior: float, noise: float = 1.0) -> float:
        """Return log Z for these precisions of prior and noise, in nats."""
        return self.with_slopes(math.log(prior), math.log(noise))[0]

    def with_slopes(self, log_prior: float, log_noise: float) -> tuple[float, tuple[float, float]]:
        """Return log Z and its derivatives with respect to the logs of both precisions."""
        prior, noise = math.exp(log_prior), math.exp(log_noise)
        precision = noise * self.eigenvalues + prior
        directions, targets = len(precision), self.targets or 0
        value = (
            0.5 * targets * (log_noise - math.log(2 * math.pi))
            - noise * self.misfit
            - 0.5 * prior * self.squared_norm
            + 0.5 * directions * log_prior
            - 0.5 * float(np.log(precision).sum())
        )
        effective = float((noise * self.eigenvalues / precision).sum())
        slope_of_prior = 0.5 * (effective - prior * self.squared_norm)
        slope_of_noise = 0.5 * (targets - effective) - noise * self.misfit
        return value, (slope_of_prior, slope_of_noise)

    def effective_parameters(self, prior: float, noise: float) -> float:
        """Return the number of weights that the data determine, $\\sum_i βh_i / (βh_i + δ)$."""
        return float((noise * self.eigenvalues / (noise * self.eigenvalues + prior)).sum())


@dataclass(frozen=True)
class Precisions:
    """Precisions of the prior and of the noise; the latter is 1 for a classifier."""

    prior: float
    noise: float
    within_bounds: bool = True


def maximise_evidence(evidence: Evidence, noise: float, learns_noise: bool) -> Precisions:
    """Return the precisions of maximum evidence; the noise's is learned or stays fixed."""
    low, high = (math.log(bound) for bound in PRECISIONS)
    fixed = math.log(noise)

    def loss(point: np.ndarray) -> tuple[float, np.ndarray]:
        value, slopes = evidence.with_slopes(*(float(x) for x in (*point, fixed)[:2]))
        return -value, -np.array(slopes[: len(point)])

    start_of_noise = [min(max(fixed, low), high)] if learns_noise else []
    best = min(
        (
            minimize(
                loss,
                [math.log(start), *start_of_noise],
                jac=True,
                method="L-BFGS-B",
                bounds=[(low, high)] * (1 + learns_noise),
                options={"ftol": 1e-13, "gtol": 1e-8, "maxiter": 500},
            )
            for start in STARTS
        ),
        key=lambda optimum: optimum.fun,
    )
    inside = bool(((best.x > low + 1e-6) & (best.x < high - 1e-6)).all())
    prior, *learned = (math.exp(float(x)) for x in best.x)
    return Precisions(prior, *(learned or [noise]), within_bounds=inside)

"""Dirichlet distributions over class probabilities: fit to draws, divergence, uncertainty.

The fit keeps the mean of the draws and finds the precision, the sum of the concentrations, by
maximum likelihood. Everything is float64, except when steps are counted.

Sources: paper 003, section 3 and appendices A and B; Minka (2000), "Estimating a Dirichlet
distribution".
"""

from functools import reduce
from typing import NamedTuple

import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

SMOOTHING = 1e-4
"""Share of every draw that is replaced by the uniform before taking logs. Source: paper 003."""
TOLERANCE = 1e-5
"""Relative change of the precision at which the iteration stops."""
ITERATIONS = 100


def smoothed(probs: Float[Tensor, "*points classes"]) -> Float64[Tensor, "*points classes"]:
    """Return the probabilities moved towards uniform, which bounds their logarithms."""
    return (1 - SMOOTHING) * probs.double() + SMOOTHING / probs.shape[-1]


def mean_of(draws: Float64[Tensor, "draws *points"]) -> Float64[Tensor, "*points"]:
    """Return the mean over draws; a point's rounding does not depend on other points."""
    return draws[0] if len(draws) == 1 else reduce(torch.add, draws.unbind()) / len(draws)


def reverse_mutual_information(
    draws: Float64[Tensor, "draws *points classes"],
) -> Float64[Tensor, "*points"]:
    r"""Return $\tfrac1M \sum_m KL[\bar a \| f_m]$ of draws around their mean, in nats.

    The fit depends only on this and the mean. Source: Malinin and Gales (2021),
    "Uncertainty Estimation in Autoregressive Structured Prediction".
    """
    mean = mean_of(draws)
    return (mean * (mean.log() - mean_of(draws.log()))).sum(-1).clamp_min(0)


def fitted_precision(
    mean: Float64[Tensor, "*points classes"],
    spread: Float64[Tensor, "*points"],
    lowest: float,
    highest: float,
) -> Float64[Tensor, "*points"]:
    """Return the most likely precision in [lowest, highest] of a Dirichlet with this mean.

    `spread` is the draws' `reverse_mutual_information`. If it is 0, the likelihood grows without
    bound and the result is `highest`.
    """
    return fit_of_precision(mean, spread, lowest, highest).precision


class Fit(NamedTuple):
    """The most likely precision at each point, and the number of steps to find it."""

    precision: Float[Tensor, "*points"]
    steps: Int64[Tensor, "*points"]


@torch.no_grad()
def fit_of_precision(
    mean: Float[Tensor, "*points classes"],
    spread: Float[Tensor, "*points"],
    lowest: float,
    highest: float,
) -> Fit:
    r"""Return `fitted_precision` and the number of steps, at most `ITERATIONS`, in any float type.

    $$ \tfrac1z \leftarrow \tfrac1z + \frac{\psi(z) - \sum_k \bar a_k \psi(z \bar a_k)
       + \sum_k \bar a_k c_k}{z^2 (\psi'(z) - \sum_k \bar a_k^2 \psi'(z \bar a_k))} $$

    Source: paper 003, eqs. 29 to 32, which start from Stirling's approximation.
    """
    expected_log = (mean * mean.log()).sum(-1) - spread
    z = ((mean.shape[-1] - 1) / (2 * spread)).clamp(lowest, highest)
    moving = torch.ones_like(z, dtype=torch.bool)
    steps = torch.zeros_like(z, dtype=torch.int64)
    for _ in range(ITERATIONS):
        alpha = z.unsqueeze(-1) * mean
        slope = z.digamma() - (mean * alpha.digamma()).sum(-1) + expected_log
        curvature = _trigamma(z) - (mean.square() * _trigamma(alpha)).sum(-1)
        inverse = 1 / z + slope / (z.square() * curvature)
        # A step beyond infinity ends at the highest precision.
        new = torch.where(inverse > 0, 1 / inverse, highest).clamp(lowest, highest)
        converged = (new - z).abs() <= TOLERANCE * z
        # A point that has converged stays, even while others continue.
        z = torch.where(moving, new, z)
        steps += moving
        moving &= ~converged
        if not moving.any():
            break
    return Fit(z, steps)


def kl_estimate(
    log_probs: Float[Tensor, "draws *points classes"],
    prior: Float64[Tensor, " classes"],
    highest: float,
) -> Float64[Tensor, "*points"]:
    r"""Return an estimate of KL[Dir(α) || Dir(β)], in nats, for α fitted to draws and prior β.

    $$ \tfrac1M \sum_m \log Dir(f_m | \alpha) - \log Dir(f_m | \beta) $$

    Precisions lie between the number of classes and `highest`, which is used for a single draw.
    Gradients pass only through the draws. If the precision is at a bound, this differs from the
    divergence and may be negative. Source: paper 003, eq. 5.
    """
    draws = smoothed(log_probs.double().exp())
    logs = draws.log()
    with torch.no_grad():
        mean, classes = mean_of(draws), draws.shape[-1]
        if len(draws) == 1:
            alpha = highest * mean
        else:
            z = fitted_precision(mean, reverse_mutual_information(draws), classes, highest)
            alpha = z.unsqueeze(-1) * mean
    # A single draw equals its mean, where the derivative of Σ α_k log f_k is 0.
    held = logs.detach() if len(draws) == 1 else logs
    gap = mean_of((alpha * held - prior * logs).sum(-1))
    return _log_normaliser(alpha) - _log_normaliser(prior) + gap


def log_density(
    logs: Float64[Tensor, "*points classes"], alpha: Float64[Tensor, "*#points classes"]
) -> Float64[Tensor, "*points"]:
    r"""Return $\log Dir(f | \alpha)$, given log f."""
    return _log_normaliser(alpha) + ((alpha - 1) * logs).sum(-1)


def kl_divergence(
    alpha: Float64[Tensor, "*points classes"], prior: Float64[Tensor, "*#points classes"]
) -> Float64[Tensor, "*points"]:
    r"""Return KL[Dir(α) || Dir(β)] in nats.

    $$ \log\frac{\Gamma(\sum \alpha)}{\prod \Gamma(\alpha_k)}
       - \log\frac{\Gamma(\sum \beta)}{\prod \Gamma(\beta_k)}
       + \sum_k (\alpha_k - \beta_k) (\psi(\alpha_k) - \psi(\sum \alpha)) $$
    """
    expected_logs = alpha.digamma() - alpha.sum(-1, keepdim=True).digamma()
    gap = ((alpha - prior) * expected_logs).sum(-1)
    return _log_normaliser(alpha) - _log_normaliser(prior) + gap


def entropy(alpha: Float64[Tensor, "*points classes"]) -> Float64[Tensor, "*points"]:
    """Return the entropy of the class under the mean probabilities, in nats."""
    return torch.special.entr(alpha / alpha.sum(-1, keepdim=True)).sum(-1)


def expected_entropy(alpha: Float64[Tensor, "*points classes"]) -> Float64[Tensor, "*points"]:
    r"""Return the expected entropy of the class given its probabilities, in nats.

    $$ -\sum_k \tfrac{\alpha_k}{z} (\psi(\alpha_k + 1) - \psi(z + 1)) $$
    """
    total = alpha.sum(-1, keepdim=True)
    return (alpha / total * ((total + 1).digamma() - (alpha + 1).digamma())).sum(-1)


def mutual_information(alpha: Float64[Tensor, "*points classes"]) -> Float64[Tensor, "*points"]:
    """Return entropy minus expected entropy: the information of the probabilities on the class."""
    return (entropy(alpha) - expected_entropy(alpha)).clamp_min(0)


def _log_normaliser(alpha: Tensor) -> Tensor:
    return alpha.sum(-1).lgamma() - alpha.lgamma().sum(-1)


def _trigamma(x: Tensor) -> Tensor:
    return torch.polygamma(1, x)

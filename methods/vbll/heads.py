r"""Bounds on the log evidence of Gaussian last layers, for several members side by side.

A head has weights $w \sim N(0, p I)$ and the variational posterior $N(m, S)$, $S = L L^T$; features
$\phi$ are given, and $s$ is the standard deviation of a head's noise.

Source: Harrison, Willes and Snoek (2024), "Variational Bayesian Last Layers", theorems 1 and 2.
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from bnnbench.methods.networks.torch_layers import affine

Features = Float[Tensor, "members points features"]


class Heads(NamedTuple):
    """Heads over the same features, one per output or class."""

    means: Float[Tensor, "members heads features"]
    factors: Float[Tensor, "members heads features features"]
    """The lower triangular L."""
    log_noise_stds: Float[Tensor, "members heads"]


def triangular(numbers: Float[Tensor, "*heads rows rows"]) -> Float[Tensor, "*heads rows rows"]:
    """Return lower triangular matrices; the numbers on the diagonal are logarithms."""
    diagonal = numbers.diagonal(dim1=-2, dim2=-1).exp()
    return numbers.tril(-1) + torch.diag_embed(diagonal)


def means_of(phi: Features, heads: Heads) -> Float[Tensor, "members points heads"]:
    r"""Return $m^T \phi$ of each head."""
    return affine(phi, heads.means)


def variances_of(phi: Features, heads: Heads) -> Float[Tensor, "members points heads"]:
    r"""Return $\phi^T S \phi$ of each head."""
    count, width = heads.means.shape[1:]
    projected = affine(phi, heads.factors.mT.flatten(1, 2))
    return projected.unflatten(-1, (count, width)).square().sum(-1)


def divergences(
    heads: Heads, prior_variance: Float[Tensor, "members 1"]
) -> Float[Tensor, "members heads"]:
    r"""Return $KL(N(m, S) \| N(0, p I))$ of each head, in nats.

    $$ \tfrac12 (|m|^2 / p + \mathrm{tr}\, S / p - F + F \log p - \log \det S) $$
    """
    squares = heads.means.square().sum(-1) + heads.factors.square().flatten(2).sum(-1)
    log_determinants = 2 * heads.factors.diagonal(dim1=-2, dim2=-1).log().sum(-1)
    width = heads.means.shape[-1]
    per_weight = width * (prior_variance.log() - 1)
    return 0.5 * (squares / prior_variance + per_weight - log_determinants)


def gaussian_bounds(
    phi: Features, targets: Float[Tensor, "members points heads"], heads: Heads
) -> Float[Tensor, "members points"]:
    r"""Return the expected log likelihood of each row, in nats, summed over outputs.

    $$ \log N(y; m^T \phi, s^2) - \frac{\phi^T S \phi}{2 s^2} $$
    """
    logs = heads.log_noise_stds.unsqueeze(1)
    squares = (targets - means_of(phi, heads)).square() + variances_of(phi, heads)
    terms = squares * (-2 * logs).exp() + 2 * logs + math.log(2 * math.pi)
    return -0.5 * terms.sum(-1)


def categorical_bounds(
    phi: Features, targets: Int[Tensor, "members points"], heads: Heads
) -> Float[Tensor, "members points"]:
    r"""Return Jensen's bound on the expected log softmax of noisy logits, in nats.

    $$ m_y^T \phi - \log \sum_k \exp(m_k^T \phi + \tfrac12 (\phi^T S_k \phi + s_k^2)) $$
    """
    logits = means_of(phi, heads)
    noise = (2 * heads.log_noise_stds).exp().unsqueeze(1)
    raised = logits + 0.5 * (variances_of(phi, heads) + noise)
    of_targets = logits.gather(-1, targets.long().unsqueeze(-1)).squeeze(-1)
    return of_targets - raised.logsumexp(-1)


def noise_prior(
    log_stds: Float[Tensor, "members heads"], degrees: float, scale: float, dimensions: int
) -> Float[Tensor, " members"]:
    r"""Return the log density of an inverse Wishart prior on the noise, without its constant.

    $$ -(\nu + d + 1) \log s - \frac{\psi}{2 s^2}, $$

    summed over heads, for a diagonal covariance of d `dimensions`.
    """
    linear = (degrees + dimensions + 1) * log_stds
    return -(linear + 0.5 * scale * (-2 * log_stds).exp()).sum(-1)


def exact_head(
    phi: Float[Tensor, "points features"],
    targets: Float[Tensor, " points"],
    noise_variance: float,
    prior_variance: float,
) -> tuple[Float[Tensor, " features"], Float[Tensor, "features features"]]:
    r"""Return m and L that maximise the bound of a regression, for fixed features and noise.

    $$ S = (I / p + \Phi^T \Phi / s^2)^{-1}, \quad m = S \Phi^T y / s^2 $$
    """
    identity = torch.eye(phi.shape[1], dtype=phi.dtype, device=phi.device)
    precision = identity / prior_variance + phi.mT @ phi / noise_variance
    covariance = torch.cholesky_inverse(torch.linalg.cholesky(precision))
    mean = covariance @ (phi.mT @ targets) / noise_variance
    return mean, torch.linalg.cholesky(covariance)

r"""The Gaussian nearest to the posterior of two units in $KL(q \| p)$, from a given start.

$$ \min_{m, L} \; E_{\theta = m + L \epsilon}\left[-\log p(y \mid \theta)\right]
   + KL(N(m, L L^T) \| \text{prior}) $$

The expectation over $\epsilon$ is a mean over fixed points, a Sobol sequence and its mirror image.
"""

from collections.abc import Mapping
from typing import Literal

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from bnnbench.methods.approximation_levels.importance import Moments
from bnnbench.methods.approximation_levels.two_units import PARAMETERS, UNIT_OF, TwoUnits, Vector

POINTS = 4096
"""Number of points of the sequence, a power of two."""
ITERATIONS = 300

Covariances = Literal["none", "last_layer", "units", "all"]
BLOCKS: Mapping[Covariances, tuple[int, ...]] = {
    "none": tuple(range(PARAMETERS)),
    "last_layer": (0, 1, 2, 3, 4, 4, 4),
    "units": UNIT_OF,
    "all": (0,) * PARAMETERS,
}
"""Parameters with the same number have covariances with each other."""


def nearest(model: TwoUnits, mean: Vector, variance: Vector, covariances: Covariances) -> Moments:
    """Return the Gaussian at a local minimum, with the given covariances."""
    block = torch.tensor(BLOCKS[covariances])
    related = (block[:, None] == block).tril(-1)
    at = (mean - model.prior_mean) / model.prior_variance.sqrt()
    log_stds = (variance / model.prior_variance).log() / 2
    lower = torch.zeros(PARAMETERS, PARAMETERS, dtype=torch.float64)
    free = at, log_stds, lower
    for each in free:
        each.requires_grad_()
    points = _points()
    optimiser = torch.optim.LBFGS(
        free, max_iter=ITERATIONS, tolerance_grad=1e-7, line_search_fn="strong_wolfe"
    )

    def closure() -> Tensor:
        optimiser.zero_grad()
        loss = _loss(model, at, _root(log_stds, lower, related), points)
        loss.backward()
        return loss

    with torch.enable_grad():
        optimiser.step(closure)  # pyright: ignore[reportArgumentType]
    scale = model.prior_variance.sqrt()
    root = scale[:, None] * _root(log_stds, lower, related).detach()
    return Moments(1.0, model.prior_mean + scale * at.detach(), root @ root.mT)


def _root(
    log_stds: Vector, lower: Float64[Tensor, "7 7"], related: Bool[Tensor, "7 7"]
) -> Float64[Tensor, "7 7"]:
    """Return the triangular root of the covariance, in prior standard deviations."""
    return log_stds.exp().diag() + lower * related


def _loss(model: TwoUnits, at: Tensor, root: Tensor, points: Tensor) -> Tensor:
    """Return the negative evidence lower bound, up to a constant.

    `at` and `root` are in prior standard deviations.
    """
    draws = model.prior_mean + model.prior_variance.sqrt() * (at + points @ root.mT)
    misfit = -model.log_likelihood(draws).mean()
    divergence = (root.square().sum() + at.square().sum()) / 2 - root.diagonal().log().sum()
    return misfit + divergence


def _points() -> Float64[Tensor, "points 7"]:
    """Return points distributed like independent standard normals."""
    uniform = torch.quasirandom.SobolEngine(PARAMETERS, scramble=True, seed=0).draw(
        POINTS, dtype=torch.float64
    )
    normal = torch.special.ndtri(uniform.clamp(1e-9, 1 - 1e-9))
    return torch.cat([normal, -normal])

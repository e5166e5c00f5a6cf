r"""The energy score $E\lVert Y - y \rVert - \tfrac12 E\lVert Y - Y' \rVert$ of target vectors.

For one target it is the CRPS. Source: Gneiting and Raftery (2007), "Strictly proper scoring rules,
prediction, and estimation", eq. 22.
"""

import math
from typing import Any

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from bnnbench.methods.predictions.base import CannotAnswer
from bnnbench.methods.predictions.predictive import GaussianPredictive
from bnnbench.metrics.joint.batches import batches, draw_log_probs, pairs

BATCHES = 20
CHUNK_PAIRS = 2**12
STEP = 0.5
NODES = torch.arange(-28, 37, dtype=torch.float64) * STEP
"""Logarithms of the integration variable in `expected_norm`, in units of one over the expected
square. The trapezoidal rule errs by some exp(-π² / STEP); beyond the ends the integrand is a
power."""


def joint_energy_score(
    prediction: Any, target: Float[Tensor, "points outputs"]
) -> Float64[Tensor, ""]:
    """Return the mean energy score of the target vectors of ten different points.

    In target units. The batches are the first ones of `joint_log_loss`. Of more than 200 draws,
    20,000 random pairs are compared in each batch; the standard error of the mean is then about
    0.04 % of the score. Raises `CannotAnswer` for a prediction without draws, and for draws that
    are not Gaussian.
    """
    if not isinstance(prediction, GaussianPredictive):
        draw_log_probs(prediction, target)
        raise CannotAnswer(f"needed Gaussian draws; got {type(prediction).__name__}")
    first = type(prediction)(prediction.means[:, :1], prediction.variances[:, :1])
    draw_log_probs(first, target[:1])
    rows = batches(len(target), BATCHES)[:BATCHES].to(target.device)
    scores = [
        energy_score(
            prediction.means[:, row].double().flatten(1),
            prediction.variances[:, row].double().flatten(1),
            target[row].double().flatten(),
            seed,
        )
        for seed, row in enumerate(rows)
    ]
    return torch.stack(scores).mean()


def energy_score(
    means: Float64[Tensor, "draws size"],
    variances: Float64[Tensor, "draws size"],
    target: Float64[Tensor, " size"],
    seed: int = 0,
) -> Float64[Tensor, ""]:
    """Return the score of a vector under an equal-weight mixture of Gaussians.

    Given a draw, the elements of a vector are independent. Of more than 20,000 pairs of draws,
    about as many random ones are compared, in which every draw occurs equally often. The standard
    error is then at most half the standard deviation of the distances, over the root of their
    number.
    """
    draws = len(means)
    error = expected_norm(target - means, variances).mean()
    itself = expected_norm(torch.zeros_like(means), 2 * variances).mean()
    share = 1 / draws
    spread = share * itself + (1 - share) * _mean_distance(means, variances, seed)
    return error - spread / 2


def _mean_distance(
    means: Float64[Tensor, "draws size"], variances: Float64[Tensor, "draws size"], seed: int
) -> Float64[Tensor, ""]:
    """Return the expected distance between different draws; 0 if there is one."""
    if len(means) == 1:
        return torch.zeros_like(means[0, 0])
    first, second = (row.to(means.device) for row in pairs(len(means), seed))
    total = torch.zeros_like(means[0, 0])
    for a, b in zip(first.split(CHUNK_PAIRS), second.split(CHUNK_PAIRS), strict=True):
        total += expected_norm(means[a] - means[b], variances[a] + variances[b]).sum()
    return total / len(first)


def expected_norm(
    mean: Float64[Tensor, "vectors size"], variance: Float64[Tensor, "vectors size"]
) -> Float64[Tensor, " vectors"]:
    r"""Return $E\lVert Z \rVert$ of each Gaussian vector with independent elements.

    $$ \tfrac{1}{2\sqrt\pi} \int_0^\infty \bigl(1 - E e^{-t \lVert Z \rVert^2}\bigr)
       t^{-3/2} dt, \qquad E e^{-t Z_i^2} = (1 + 2 t v_i)^{-1/2}
       \exp\Bigl(\frac{-t m_i^2}{1 + 2 t v_i}\Bigr) $$

    The integral uses the trapezoidal rule in log t, with an error of some 1e-8 of the norm.
    """
    size, square = mean.shape[1], mean.square()
    if (variance == variance[:, :1]).all():  # one exponent for all elements
        square, variance, repeats = square.sum(1, keepdim=True), variance[:, :1], size
        scale = (square + size * variance).sum(1)
    else:
        repeats, scale = 1, (square + variance).sum(1)
    unit = torch.where(scale > 0, scale, 1.0)[:, None]
    square, variance = square / unit, variance / unit
    total = torch.zeros_like(scale)
    for node in NODES.exp().tolist():
        width = 1 + 2 * node * variance
        exponent = (node * square / width + 0.5 * repeats * width.log()).sum(1)
        total -= torch.expm1(-exponent) / math.sqrt(node)
    # Beyond the ends, 1 - E is proportional to t, or equal to 1.
    first, last = math.exp(NODES[0]), math.exp(NODES[-1])
    ratio = 1 / math.expm1(STEP / 2)
    total += ratio * (math.sqrt(first) + 1 / math.sqrt(last))
    return torch.where(scale > 0, STEP * total * scale.sqrt() / (2 * math.sqrt(math.pi)), 0.0)

r"""The continuous ranked probability score, $\int (F(x) - [x \ge y])^2 dx$, in target units.

Source: Gneiting and Raftery (2007), "Strictly proper scoring rules, prediction, and estimation".
"""

import math
from typing import Any

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from bnnbench.methods.predictions.base import HasQuantiles, HasSamples, require
from bnnbench.methods.predictions.log_normal import LogNormalPredictive
from bnnbench.methods.predictions.predictive import GaussianPredictive, in_chunks
from bnnbench.metrics.crps_of_cdf import crps_by_integration
from bnnbench.metrics.quantiles import crps_of_quantiles

CHUNK_VALUES = 2**18


def crps(prediction: Any, target: Float[Tensor, "points outputs"]) -> Float64[Tensor, " points"]:
    """Return the score of each target, averaged over outputs.

    Mixtures of Gaussians, log-normals and samples have a closed form; quantiles on a grid and the
    cdf of other predictives are integrated numerically. The score is infinite for tails so heavy
    that the integral is; it may be finite without a finite mean, where it is proper but not
    strictly so. Raises `CannotAnswer` if there is neither a cdf nor a grid.
    """
    if isinstance(prediction, GaussianPredictive):
        return crps_of_gaussian_mixture(prediction, target)
    if isinstance(prediction, LogNormalPredictive):
        return crps_of_log_normal(prediction, target)
    if isinstance(prediction, HasQuantiles):
        return crps_of_quantiles(prediction, target)
    if isinstance(prediction, HasSamples):
        flat = crps_of_samples(prediction.samples.flatten(1), target.flatten(), fair=False)
        return flat.view(target.shape).mean(1)
    require(prediction, "cdf")
    return crps_by_integration(prediction, target)


def crps_of_gaussian_mixture(
    prediction: GaussianPredictive, target: Float[Tensor, "points outputs"]
) -> Float64[Tensor, " points"]:
    r"""Return the score of each target under an equal-weight mixture of Gaussians.

    $$ \tfrac1S \sum_a A(y - m_a, v_a) - \tfrac1{2S^2} \sum_{ab} A(m_a - m_b, v_a + v_b) $$

    The double sum also equals $\int F (1 - F) dx$, which is used if it needs fewer terms.
    Source: Grimit et al. (2006), "The continuous ranked probability score for circular
    variables and its application to mesoscale forecast ensemble verification".
    """
    draws, points, outputs = prediction.means.shape
    size = max(1, CHUNK_VALUES // (draws * outputs))
    scores = []
    for start in range(0, points, size):
        chunk = slice(start, start + size)
        mean, variance = (
            prediction.means[:, chunk].double(),
            prediction.variances[:, chunk].double(),
        )
        error = _expected_absolute(target[chunk].double() - mean, variance).mean(0)
        nodes = _nodes_needed(mean, variance)
        if nodes < draws / 2:
            spread = _spread_by_quadrature(mean, variance, int(nodes) + 1)
        else:
            spread = _spread_by_pairs(mean, variance)
        scores.append((error - spread).mean(1))
    return torch.cat(scores)


def crps_of_log_normal(
    prediction: LogNormalPredictive, target: Float[Tensor, "points outputs"]
) -> Float64[Tensor, " points"]:
    r"""Return the score of each target under $a + e^{m + s z}$, averaged over outputs.

    $$ (y - a) (2 \Phi(z) - 1)
    - 2 e^{m + s^2/2} \left( \Phi(z - s) + \Phi(s / \sqrt2) - 1 \right),
    \quad z = (\log(y - a) - m) / s, $$
    and $a - y$ more for targets below a.
    Source: Baran and Lerch (2015), "Log-normal distribution based Ensemble Model Output Statistics
    models for probabilistic wind-speed forecasting".
    """
    target, z, stds = target.double(), prediction.z(target), prediction.log_stds.double()
    ends = prediction.ends.double()
    above = (target - ends).clamp(min=0)
    error = above * torch.erf(z / math.sqrt(2)) + (ends - target).clamp(min=0)
    # 1 - Phi(x) = erfc(x / sqrt 2) / 2, accurate in the tail.
    share = torch.special.erfc((stds - z) / math.sqrt(2)) - torch.special.erfc(stds / 2)
    return (error - prediction.excess * share).mean(1)


def _spread_by_pairs(mean: Tensor, variance: Tensor) -> Tensor:
    """Return half the expected distance between two draws from the mixture, over axis 0.

    The distances of the means are summed in sorted order. Components whose means are so near that
    their variances add to the distance are compared in pairs, at one lag in this order at a time.
    """
    draws = len(mean)
    mean, order = mean.sort(0)
    variance = variance.gather(0, order)
    itself = _expected_absolute(torch.zeros_like(mean), 2 * variance).sum(0)
    others = _sum_of_distances(mean)
    reach = REACH * (2 * variance.amax(0)).sqrt()
    for lag in range(1, draws):
        gap = mean[lag:] - mean[:-lag]
        if (gap >= reach).all():
            break
        others += (_expected_absolute(gap, variance[lag:] + variance[:-lag]) - gap).sum(0)
    return (itself + 2 * others) / draws**2 / 2


def _sum_of_distances(ordered: Tensor) -> Tensor:
    """Return the sum of the distances of all pairs along axis 0."""
    draws = len(ordered)
    rank = torch.arange(1, draws + 1, device=ordered.device, dtype=torch.float64)
    return torch.tensordot(2 * rank - draws - 1, ordered, 1)


STEP = 0.55
"""Distance between nodes, in standard deviations of the narrowest component. The spectrum of
F (1 - F) falls as exp(-k² std² / 4), so that the trapezoidal rule errs by some 1e-14 of the
integral."""
REACH = 8.5
"""Range beyond the outermost means, in standard deviations of the widest component."""


def _nodes_needed(mean: Tensor, variance: Tensor) -> float:
    """Return the maximum number of nodes over points; infinite without variance."""
    low, high, step = _grid(mean, variance)
    return float(((high - low) / step).max().nan_to_num(math.inf))


def _grid(mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    reach = REACH * variance.amax(0).sqrt()
    return mean.amin(0) - reach, mean.amax(0) + reach, STEP * variance.amin(0).sqrt()


def _spread_by_quadrature(mean: Tensor, variance: Tensor, nodes: int) -> Tensor:
    """Return the result of `_spread_by_pairs`, computed as the integral of F (1 - F)."""
    low, high, _ = _grid(mean, variance)
    width = (high - low) / nodes
    root = (2 * variance).rsqrt()
    integral = torch.zeros_like(low)
    for node in range(nodes):
        cdf = 0.5 + 0.5 * torch.erf((low + (node + 0.5) * width - mean) * root).mean(0)
        integral += cdf * (1 - cdf)
    return integral * width


def _expected_absolute(mean: Tensor, variance: Tensor) -> Tensor:
    r"""Return $A = E|X| = 2 \sqrt v \varphi(z) + m (2 \Phi(z) - 1)$ of N(m, v), z = m/√v."""
    std = variance.sqrt()
    z = mean / std
    expected = std * math.sqrt(2 / math.pi) * torch.exp(-z.square() / 2)
    expected += mean * torch.erf(z / math.sqrt(2))
    return torch.where(variance == 0, mean.abs(), expected)


def crps_of_samples(
    samples: Float[Tensor, "draws points"], target: Float[Tensor, " points"], fair: bool = True
) -> Float64[Tensor, " points"]:
    r"""Return $\overline{|x - y|} - \tfrac12 \overline{|x - x'|}$ of each target.

    The second mean is over pairs of different draws if `fair`, else over all pairs, which is
    biased upwards. Source: Ferro (2014), "Fair scores for ensemble forecasts".
    Raises ValueError for a fair score of fewer than two draws.
    """
    draws = len(samples)
    if fair and draws < 2:
        raise ValueError(f"a fair CRPS needs at least 2 draws; got {draws}: use fair=False")
    pairs = draws * (draws - 1) if fair else draws**2

    def score(some: Tensor, rows: Tensor) -> Tensor:
        ordered = some.double().sort(0).values
        error = (ordered - rows.double()).abs().mean(0)
        return error - _sum_of_distances(ordered) / pairs

    return in_chunks(score, samples, target[None])

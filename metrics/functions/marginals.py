"""Scores of single points: how far a prediction's distribution is from the reference's.

Scores of function values are relative to the reference's standard deviation at the point. Each
returns one value per point, `std_ratio` a single number.
"""

import math

import torch
from jaxtyping import Float64
from torch import Tensor

from bnnbench.metrics.distances import Tabulated, kl_divergence, wasserstein2
from bnnbench.metrics.functions.values import FunctionValues, Truth, require_points

Points = Float64[Tensor, " points"]
PIECES = 2**22
"""Number of pairs of components compared at once, to bound memory."""
LEAST_STD = 1e-12
"""Minimum standard deviation in `std_ratio`, in units of the reference's."""


def kl_from_truth(prediction: FunctionValues, truth: Truth) -> Points:
    """Return KL[p || q] of noisy targets, p being the reference's distribution, in nats."""
    require_points(prediction, truth)
    return kl_divergence(Tabulated(prediction.predictive), truth.tabulated)


def total_variation(prediction: FunctionValues, truth: Truth) -> Points:
    r"""Return $\tfrac12 \int |p - q|$ between distributions of noisy targets.

    The integral uses the trapezoidal rule on the union of both grids.
    """
    require_points(prediction, truth)
    p, q = truth.tabulated, Tabulated(prediction.predictive)
    nodes = torch.cat([p.nodes, q.nodes], 1).sort(1).values
    gap = torch.zeros_like(nodes)
    for node in range(nodes.shape[1]):
        at = nodes[:, node, None]
        gap[:, node] = p.prediction.log_prob(at).exp() - q.prediction.log_prob(at).exp()
    return torch.trapezoid(gap.abs(), nodes) / 2


def w2_relative(prediction: FunctionValues, truth: Truth) -> Points:
    """Return the 2-Wasserstein distance of function values, divided by the reference's std.

    Exact between draws, and between draws and one Gaussian; other mixtures as in
    `metrics.distances`.
    """
    require_points(prediction, truth)
    p, q = truth.functions, prediction
    if q.are_draws:
        distance = wasserstein2_of_draws(q.means, p.means)
    elif len(q.means) == 1:
        distance = wasserstein2_of_gaussian(q.means[0], q.variances[0].sqrt(), p.means)
    else:
        distance = wasserstein2(_tabulated(q), _tabulated(p))
    return distance / p.std


def wasserstein2_of_draws(
    first: Float64[Tensor, "some points"], second: Float64[Tensor, "others points"]
) -> Points:
    """Return the exact distance between two empirical distributions, at each point.

    Their quantile functions are step functions, and the difference is constant between levels at
    which one of them steps.
    """
    ends = [torch.arange(1, len(x) + 1, dtype=torch.float64) / len(x) for x in (first, second)]
    levels = torch.cat(ends).sort().values
    widths = torch.diff(levels, prepend=levels.new_zeros(1))
    middles = levels - widths / 2
    ordered = [x.sort(0).values for x in (first, second)]
    steps = [(middles * len(x)).long().clamp(max=len(x) - 1) for x in ordered]
    gap = ordered[0][steps[0]] - ordered[1][steps[1]]
    return (widths[:, None] * gap.square()).sum(0).sqrt()


def wasserstein2_of_gaussian(
    mean: Points, std: Points, draws: Float64[Tensor, "draws points"]
) -> Points:
    r"""Return the exact distance between N(m, s²) and an empirical distribution, at each point.

    $$ W_2^2 = m^2 + s^2 + \tfrac1n \sum_i x_{(i)}^2
       - 2 \sum_i x_{(i)} \bigl(\tfrac mn + s (\varphi(z_{i-1}) - \varphi(z_i))\bigr),
       \qquad z_i = \Phi^{-1}(i / n) $$
    """
    count = len(draws)
    z = torch.special.ndtri(torch.arange(count + 1, dtype=torch.float64) / count)
    density = torch.exp(-z.square() / 2) / math.sqrt(2 * math.pi)
    spread = -torch.diff(density)
    ordered = draws.sort(0).values
    centred = ordered - mean
    square = centred.square().mean(0) + std.square() - 2 * std * (spread @ ordered)
    return square.clamp(min=0).sqrt()


def energy_relative(prediction: FunctionValues, truth: Truth) -> Points:
    r"""Return $2 E|X - Y| - E|X - X'| - E|Y - Y'|$, divided by the reference's std.

    X and Y are function values under both; the pairs of components include each one with itself.
    """
    require_points(prediction, truth)
    p, q = truth.functions, prediction
    if p.are_draws and q.are_draws:
        return energy_of_draws(q.means, p.means) / p.std
    between = _mean_distance(p, q)
    return (2 * between - _mean_distance(p, p) - _mean_distance(q, q)) / p.std


def energy_of_draws(
    first: Float64[Tensor, "some points"], second: Float64[Tensor, "others points"]
) -> Points:
    r"""Return the energy distance between two empirical distributions, $2 \int (F - G)^2 dx$."""
    ordered = [x.T.contiguous().sort(1).values.contiguous() for x in (first, second)]
    x = torch.cat(ordered, 1).sort(1).values
    low = x[:, :-1].contiguous()
    cdfs = [torch.searchsorted(y, low, right=True).double() / y.shape[1] for y in ordered]
    return 2 * (x.diff(dim=1) * (cdfs[0] - cdfs[1]).square()).sum(1)


def _mean_distance(first: FunctionValues, second: FunctionValues) -> Points:
    """Return E|X - Y|; for Gaussians, the mean of a folded normal distribution."""
    total = torch.zeros_like(first.mean)
    at_once = max(1, PIECES // second.means.numel())
    for means, variances in zip(
        first.means.split(at_once), first.variances.split(at_once), strict=True
    ):
        gap = means[:, None] - second.means
        std = (variances[:, None] + second.variances).sqrt()
        z = torch.where(std > 0, gap / std, torch.inf)
        density = torch.exp(-z.square() / 2) * math.sqrt(2 / math.pi)
        folded = std * density + gap * torch.special.erf(z / math.sqrt(2))
        total += torch.where(std > 0, folded, gap.abs()).sum((0, 1))
    return total / (len(first.means) * len(second.means))


def mean_error(prediction: FunctionValues, truth: Truth) -> Points:
    """Return the absolute difference between means, divided by the reference's std."""
    require_points(prediction, truth)
    return (prediction.mean - truth.functions.mean).abs() / truth.functions.std


def std_ratio(prediction: FunctionValues, truth: Truth) -> Float64[Tensor, ""]:
    """Return the geometric mean over points of the ratio of standard deviations; 1 is exact.

    It is 0 for a prediction without any spread.
    """
    require_points(prediction, truth)
    if not prediction.std.any():
        return prediction.std.sum()
    return (prediction.std / truth.functions.std).clamp(min=LEAST_STD).log().mean().exp()


def _tabulated(values: FunctionValues) -> Tabulated:
    return Tabulated(FunctionValues(values.means, values.variances, 0.0).predictive)

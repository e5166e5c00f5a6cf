r"""Distances between predictive distributions of one real output, at each point.

Both distances are integrals over a grid of `NODES` equal steps that spans every component of
a mixture to `REACH` standard deviations. A component narrower than a step is widened to it, so
that W2 is off by at most about a step, 1/500 of that span; if components are wider than a step,
the error is of fourth order in it. Two single Gaussians have closed forms. For any other
distribution the grid spans `REACH` of its standard deviations; mass beyond counts as at the ends.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float64
from torch import Tensor

from bnnbench.methods.predictions.predictive import GaussianPredictive, RealPredictive

NODES, REACH = 512, 9.0
CHUNK_VALUES, POINTS_AT_ONCE = 2**14, 128
LEAST_EXPONENT = -700.0
"""Minimum exponent: below it the exponential is subnormal, which is 50 times as slow.
"""
REFINEMENT = 8
"""Number of linear pieces of the cdf per step when quantiles are compared."""


@dataclass(frozen=True)
class Tabulated:
    """A distribution of one output, with its density on a grid for each point."""

    prediction: GaussianPredictive | RealPredictive

    def __post_init__(self) -> None:
        outputs = self.prediction.mean.shape[1]
        if outputs != 1:
            raise ValueError(f"a distance needs predictions of one output; got {outputs}")

    @property
    def gaussian(self) -> GaussianPredictive | None:
        """The prediction, if each point has one Gaussian."""
        p = self.prediction
        return p if isinstance(p, GaussianPredictive) and len(p.means) == 1 else None

    @cached_property
    def ends(self) -> tuple[Float64[Tensor, " points"], Float64[Tensor, " points"]]:
        """The first and last node of the grid."""
        if isinstance(self.prediction, GaussianPredictive):
            means, variances = self.prediction.means, self.prediction.variances
        else:
            means, variances = self.prediction.mean[None], self.prediction.variance[None]
        means, stds = means[..., 0], variances[..., 0].sqrt()
        low, high = (means - REACH * stds).amin(0), (means + REACH * stds).amax(0)
        # For a point mass, the step must not be lost in rounding.
        least = 1e-9 * torch.maximum(low.abs(), high.abs()).double() + 1e-300
        low, high = low.double() - least, high.double() + least
        margin = (
            REACH * (high - low) / (NODES - 1 - 2 * REACH)
        )  # for components that are widened to a step
        return low - margin, high + margin

    @cached_property
    def step(self) -> Float64[Tensor, " points"]:
        """The distance between nodes."""
        low, high = self.ends
        return (high - low) / (NODES - 1)

    @cached_property
    def nodes(self) -> Float64[Tensor, "points nodes"]:
        """The grid of each point."""
        steps = torch.arange(NODES, dtype=torch.float64, device=self.step.device)
        return self.ends[0][:, None] + self.step[:, None] * steps

    @cached_property
    def density(self) -> Float64[Tensor, "points nodes"]:
        """The density at the nodes; Gaussians narrower than a step are widened to it."""
        if isinstance(self.prediction, GaussianPredictive):
            return _density(self.prediction, self.nodes, self.step)
        columns = [self.prediction.log_prob(node[:, None]) for node in self.nodes.unbind(1)]
        return torch.stack(columns, 1).exp()

    @cached_property
    def cdf(self) -> Float64[Tensor, "points nodes"]:
        """The mass up to each node; for Gaussians, the integral of cubics through four nodes."""
        if not isinstance(self.prediction, GaussianPredictive):
            columns = [self.prediction.cdf(node[:, None]) for node in self.nodes.unbind(1)]
            inner = torch.cat(columns[1:-1], 1)
            return torch.nn.functional.pad(torch.nn.functional.pad(inner, (1, 0)), (0, 1), value=1)
        padded = torch.nn.functional.pad(self.density, (1, 1))
        before, left, right, after = (padded[:, i : NODES - 1 + i] for i in range(4))
        mass = (13 * (left + right) - before - after).clamp(min=0) / 24
        total = torch.nn.functional.pad(mass.cumsum(1), (1, 0))
        return total / total[:, -1:]


def _density(mixture: GaussianPredictive, nodes: Tensor, step: Tensor) -> Tensor:
    """Return the density of a mixture at the nodes (points x nodes)."""
    draws, points, _ = mixture.means.shape
    density = torch.empty_like(nodes)
    size = max(1, CHUNK_VALUES // draws)
    for start in range(0, points, size):
        chunk = slice(start, start + size)
        variances = mixture.variances[:, chunk, 0].double()
        scale = torch.maximum(variances.sqrt(), step[chunk]).reciprocal_()
        scaled = mixture.means[:, chunk, 0].double() * scale
        z = torch.empty_like(scale)
        for node in range(NODES):
            torch.mul(scale, nodes[chunk, node], out=z).sub_(scaled)
            z.square_().mul_(-0.5).clamp_(min=LEAST_EXPONENT)
            density[chunk, node] = z.exp_().mul_(scale).sum(0)
    return density / (draws * math.sqrt(2 * math.pi))


def wasserstein2(prediction: Tabulated, reference: Tabulated) -> Float64[Tensor, " points"]:
    r"""Return $(\int_0^1 (F^{-1}(u) - G^{-1}(u))^2 du)^{1/2}$ at each point, in target units.

    Source: Villani (2003), "Topics in Optimal Transportation", section 2.2.
    """
    _check_lengths(prediction, reference)
    if prediction.gaussian and reference.gaussian:
        return _between_gaussians(prediction.gaussian, reference.gaussian)
    square = torch.empty_like(prediction.step)
    for start in range(0, len(square), POINTS_AT_ONCE):
        chunk = slice(start, start + POINTS_AT_ONCE)
        (x, first), (y, second) = _refined(prediction, chunk), _refined(reference, chunk)
        levels = torch.cat([first, second], 1).sort(1).values
        gap = _quantiles(x, first, levels) - _quantiles(y, second, levels)
        left, right = gap[:, :-1], gap[:, 1:]
        square[chunk] = (levels.diff(dim=1) * (left**2 + left * right + right**2)).sum(1) / 3
    return square.sqrt()


def kl_divergence(prediction: Tabulated, reference: Tabulated) -> Float64[Tensor, " points"]:
    r"""Return $\int p \log (p / q)$ at each point, in nats; p is the reference's density.

    The integral uses the trapezoidal rule on the reference's grid. The logarithm of q is exact
    however small q is. A point mass is infinitely far from a reference with a density, and so is a
    distribution without tails from a reference with tails.
    """
    _check_lengths(prediction, reference)
    if prediction.gaussian and reference.gaussian:
        return _relative_entropy(prediction.gaussian, reference.gaussian)
    density, total = reference.density, torch.zeros_like(reference.step)
    for node in range(NODES):
        weight = density[:, node]
        log_q = prediction.prediction.log_prob(reference.nodes[:, node, None])
        total += torch.where(weight > 0, weight * (weight.log() - log_q), 0.0)
    return (total * reference.step).clamp(min=0)


def _check_lengths(prediction: Tabulated, reference: Tabulated) -> None:
    lengths = len(prediction.prediction), len(reference.prediction)
    if lengths[0] != lengths[1]:
        raise ValueError(f"got {lengths[0]} predictions; the reference has {lengths[1]}")


def _between_gaussians(first: GaussianPredictive, second: GaussianPredictive) -> Tensor:
    """Return the root of (m₁ - m₂)² + (s₁ - s₂)²."""
    spread = first.variance.sqrt() - second.variance.sqrt()
    return torch.hypot(first.mean - second.mean, spread)[:, 0]


def _relative_entropy(prediction: GaussianPredictive, reference: GaussianPredictive) -> Tensor:
    """Return log(s_q / s_p) + (s_p² + (m_p - m_q)²) / (2 s_q²) - 1/2."""
    ratio = reference.variance / prediction.variance
    error = (prediction.mean - reference.mean).square() / prediction.variance
    return (0.5 * (ratio - 1 - ratio.log() + error))[:, 0]


def _refined(table: Tabulated, points: slice) -> tuple[Tensor, Tensor]:
    """Return nodes of a finer grid and the cdf there, by its cubic Hermite interpolant.

    The interpolant is made monotone if rounding or a gap between components breaks monotonicity.
    """
    nodes, cdf, density = table.nodes[points], table.cdf[points], table.density[points]
    share = torch.arange(REFINEMENT, device=nodes.device, dtype=torch.float64) / REFINEMENT
    step = table.step[points, None, None]
    x = (nodes[:, :-1, None] + share * step).flatten(1)
    left, right = cdf[:, :-1, None], cdf[:, 1:, None]
    # Slopes of at most 3 times a cell's mean slope overshoot neither end (Fritsch, Carlson 1980).
    rise = right - left
    slopes, steepest = density[..., None] * step, 3 * rise.clamp(min=0)
    up, down = torch.minimum(slopes[:, :-1], steepest), torch.minimum(slopes[:, 1:], steepest)
    cells = left + rise * share**2 * (3 - 2 * share)
    cells += share * (1 - share) * ((1 - share) * up - share * down)
    mass = torch.cat([cells.flatten(1), cdf[:, -1:]], 1).cummax(1).values.clamp(0, 1)
    return torch.cat([x, nodes[:, -1:]], 1), mass


def _quantiles(x: Tensor, cdf: Tensor, levels: Tensor) -> Tensor:
    """Return the quantiles at the levels, taking the cdf as linear between its nodes."""
    right = torch.searchsorted(cdf, levels).clamp(1, cdf.shape[1] - 1)
    low, high = cdf.gather(1, right - 1), cdf.gather(1, right)
    share = torch.where(high > low, (levels - low) / (high - low), 1.0).clamp(0, 1)
    start = x.gather(1, right - 1)
    return start + share * (x.gather(1, right) - start)

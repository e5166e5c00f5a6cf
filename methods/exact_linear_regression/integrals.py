"""Averages over the weights of a linear model, given some draws.

Source: paper 002, section 4.3.
"""

import math
from dataclasses import dataclass, field
from typing import Protocol, get_args, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor

from bnnbench.methods.ciber.boxes import Axes, Bounds, rotated, sides
from bnnbench.methods.ciber.predictive import AffinePredictive
from bnnbench.methods.fitting.settings import LATER, require_choice, require_positive
from bnnbench.methods.integration.integrals import expectation
from bnnbench.methods.integration.region import Affine, Box
from bnnbench.methods.integration.sums import SumOfUniforms
from bnnbench.methods.integration.weights import smoothstep
from bnnbench.methods.predictions.predictive import GaussianPredictive, RealPredictive

EQUAL_VARIANCE = math.sqrt(6)
NODES = 32
"""Number of Gauss-Legendre nodes on each of `PANELS` parts of a sum's range."""
PANELS = 6
LOGISTIC_NODES = 200
"""Number of Gauss-Hermite nodes for the mean of the logistic function of a normal variable."""

Weights = Float64[Tensor, "draws features"]
Inputs = Float[Tensor, "points features"]
Nodes = Float64[Tensor, "points nodes"]
Real = GaussianPredictive | RealPredictive


@runtime_checkable
class Integral(Protocol):
    """How draws of the weights represent their distribution: a frozen dataclass."""

    def predictive(self, weights: Weights, inputs: Inputs, noise_std: float) -> Real:
        """Return the distribution of the target at each point."""
        ...

    def log_density(
        self, weights: Weights, inputs: Inputs, noise_std: float, y: Nodes
    ) -> Float64[Tensor, "points nodes"]:
        """Return the log density of that distribution at several targets for each point."""
        ...

    def logistic(self, weights: Weights, inputs: Inputs) -> Float64[Tensor, " points"]:
        """Return the mean of the logistic function of wᵀx at each point."""
        ...


@dataclass(frozen=True)
class MonteCarlo:
    """The draws themselves, with equal weights."""

    def predictive(self, weights: Weights, inputs: Inputs, noise_std: float) -> GaussianPredictive:
        """Return the mixture over the draws."""
        means = (weights @ inputs.double().T)[..., None]
        return GaussianPredictive(means, torch.full_like(means, noise_std**2))

    def log_density(
        self, weights: Weights, inputs: Inputs, noise_std: float, y: Nodes
    ) -> Float64[Tensor, "points nodes"]:
        """Return the log of the mixture's density."""
        scaled = (y - (weights @ inputs.double().T)[..., None]) / noise_std
        constant = math.log(len(weights) * noise_std * math.sqrt(2 * math.pi))
        return (-0.5 * scaled.square()).logsumexp(0) - constant

    def logistic(self, weights: Weights, inputs: Inputs) -> Float64[Tensor, " points"]:
        """Return the mean over the draws."""
        return (weights @ inputs.double().T).sigmoid().mean(0)


@dataclass(frozen=True)
class MomentMatched:
    """The Gaussian with the draws' mean and covariance."""

    def predictive(self, weights: Weights, inputs: Inputs, noise_std: float) -> GaussianPredictive:
        """Return the distribution at each point."""
        mean, variance = self._function(weights, inputs)
        return GaussianPredictive(mean[None, :, None], (variance + noise_std**2)[None, :, None])

    def log_density(
        self, weights: Weights, inputs: Inputs, noise_std: float, y: Nodes
    ) -> Float64[Tensor, "points nodes"]:
        """Return the log of the density."""
        mean, variance = self._function(weights, inputs)
        std = (variance + noise_std**2).sqrt()[:, None]
        scaled = (y - mean[:, None]) / std
        return -0.5 * scaled.square() - (std * math.sqrt(2 * math.pi)).log()

    def logistic(self, weights: Weights, inputs: Inputs) -> Float64[Tensor, " points"]:
        """Return the mean over the Gaussian."""
        mean, variance = self._function(weights, inputs)
        return mean_logistic(mean, variance.sqrt())

    def _function(self, weights: Weights, inputs: Inputs) -> tuple[Tensor, Tensor]:
        values = weights @ inputs.double().T
        return values.mean(0), torch.as_tensor(values.var(0))


@dataclass(frozen=True)
class Collapsed:
    """The uniform distribution on the box that the draws span, integrated exactly.

    All weights are in the box, so the result has a single component. The Gaussian noise becomes
    triangular; `ratio` is half its base in standard deviations.
    """

    bounds: Bounds = "moment"
    ratio: float = EQUAL_VARIANCE
    axes: Axes = field(default="weights", metadata=LATER)

    def __post_init__(self) -> None:
        require_choice(self, "bounds", get_args(Bounds))
        require_choice(self, "axes", get_args(Axes))
        require_positive(self, "ratio")

    def predictive(self, weights: Weights, inputs: Inputs, noise_std: float) -> AffinePredictive:
        """Return the distribution at each point: a sum of uniforms, without floor."""
        function = self._function(weights, inputs)
        centres = function.centre[None, :, None]
        half_bases = torch.full_like(centres, self.ratio * noise_std)
        floor = torch.zeros_like(centres).expand(-1, -1, 4)
        return AffinePredictive(half_bases, floor, centres, function.widths[None])

    def log_density(
        self, weights: Weights, inputs: Inputs, noise_std: float, y: Nodes
    ) -> Float64[Tensor, "points nodes"]:
        """Return the log of the density, minus infinity beyond its support."""
        function = self._function(weights, inputs)
        noise = function.widths.new_full((len(y), 2), self.ratio * noise_std)
        widths = torch.cat([function.widths, noise], -1)
        with_axis = SumOfUniforms(function.centre[:, None], widths[:, None])
        return with_axis.density(y).clamp(min=0.0).log()

    def logistic(self, weights: Weights, inputs: Inputs) -> Float64[Tensor, " points"]:
        r"""Return the mean over the box, $\int \sigma'(f) P(f < w^T x) df$, to about 1e-8."""
        function = self._function(weights, inputs)
        reach = function.widths.sum(-1) / 2
        x, share = map(torch.from_numpy, np.polynomial.legendre.leggauss(NODES))
        x, share = x.to(reach), share.to(reach)
        panels = (2 * torch.arange(PANELS).to(reach) + 1) / PANELS - 1
        places = (panels[:, None] + x / PANELS).flatten()
        nodes = function.centre[:, None] + reach[:, None] * places
        spread = SumOfUniforms(function.centre[:, None], function.widths[:, None])
        slope = nodes.sigmoid() * (-nodes).sigmoid()
        inner = (slope * (1 - spread.cdf(nodes)) * share.repeat(PANELS)).sum(-1)
        # This term covers f below the box's range, where P(f < wᵀx) = 1.
        return (function.centre - reach).sigmoid() + inner * reach / PANELS

    def cubic(self, weights: Weights, inputs: Inputs) -> Float64[Tensor, " points"]:
        """Return the mean over the box of the cubic approximation of the logistic function."""
        return expectation(*self._box(weights, inputs), smoothstep())

    def _function(self, weights: Weights, inputs: Inputs) -> SumOfUniforms:
        function, box = self._box(weights, inputs)
        return function.on(box)

    def _box(self, weights: Weights, inputs: Inputs) -> tuple[Affine, Box]:
        x = inputs.double()
        if self.axes == "principal":
            box = rotated(weights, self.bounds)
            function = Affine(x @ box.centre, x @ box.directions)
            return function, Box(box.sides.lower, box.sides.upper)
        box_sides = sides(weights, self.bounds)
        return Affine(x.new_zeros(len(x)), x), Box(box_sides.lower, box_sides.upper)


def mean_logistic(
    mean: Float64[Tensor, " points"], std: Float64[Tensor, " points"]
) -> Float64[Tensor, " points"]:
    """Return the mean of the logistic function of a normal variable, by quadrature."""
    z, share = map(torch.from_numpy, np.polynomial.hermite_e.hermegauss(LOGISTIC_NODES))
    values = (mean[:, None] + std[:, None] * z.to(std)).sigmoid()
    return (values * share.to(std)).sum(1) / math.sqrt(2 * math.pi)

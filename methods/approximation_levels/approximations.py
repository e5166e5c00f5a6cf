"""Approximations of the posterior of two units, and their predictions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Float64
from torch import Generator, Tensor

from bnnbench.methods.approximation_levels.importance import Exact, Moments
from bnnbench.methods.approximation_levels.two_units import GROUPS, UNIT_OF, UNITS, TwoUnits, Vector
from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.kernels import reference
from bnnbench.methods.message_passing.layers.weighted import Weights
from bnnbench.methods.message_passing.network import Network
from bnnbench.methods.networks.architectures import Architecture, LeakyReLU, Linear
from bnnbench.methods.predictions.predictive import GaussianPredictive

SAMPLED = 400_000
"""Number of networks sampled from a distribution of weights for predictions."""

Points = Float64[Tensor, " points"]


@runtime_checkable
class Approximation(Protocol):
    """A distribution of the weights, or draws from one."""

    @property
    def stds(self) -> Vector:
        """The standard deviation of every weight."""
        ...

    def function(self, model: TwoUnits, x: Points, rng: Generator) -> tuple[Points, Points]:
        """Return mean and variance of the function at the inputs."""
        ...


@dataclass(frozen=True, eq=False)
class Drawn:
    """The exact posterior, represented by draws."""

    exact: Exact

    @property
    def stds(self) -> Vector:
        """The standard deviations of all weighted draws."""
        return self.exact.whole.covariance.diagonal().sqrt()

    def function(self, model: TwoUnits, x: Points, rng: Generator) -> tuple[Points, Points]:
        """Return moments over the draws; the stream is not used."""
        functions = model.functions(self.exact.draws, x)
        return functions.mean(0), functions.var(0)


@dataclass(frozen=True, eq=False)
class Gaussians:
    """A mixture of Gaussians, weighted by mass, that predicts by sampled networks."""

    parts: tuple[Moments, ...]

    @property
    def _shares(self) -> Float64[Tensor, " parts"]:
        masses = torch.tensor([part.mass for part in self.parts], dtype=torch.float64)
        return masses / masses.sum()

    @property
    def stds(self) -> Vector:
        """The standard deviations of the mixture."""
        shares, means = self._shares, torch.stack([part.mean for part in self.parts])
        within = torch.stack([part.covariance.diagonal() for part in self.parts])
        apart = means - shares @ means
        return (shares @ (within + apart.square())).sqrt()

    def function(self, model: TwoUnits, x: Points, rng: Generator) -> tuple[Points, Points]:
        """Return moments over 400,000 networks, divided among the parts by mass."""
        ends = (self._shares.cumsum(0) * SAMPLED).round().long().tolist()
        functions = []
        for part, start, end in zip(self.parts, [0, *ends], ends, strict=False):
            noise = torch.randn(
                end - start, len(part.mean), generator=rng, dtype=torch.float64, device=rng.device
            )
            root = torch.linalg.cholesky(part.covariance)
            functions.append(model.functions(part.mean + noise @ root.mT, x))
        every = torch.cat(functions)
        return every.mean(0), every.var(0)


@dataclass(frozen=True, eq=False)
class Propagated:
    """Independent Gaussians that predict by the package's message passing."""

    mean: Vector
    variance: Vector

    @property
    def stds(self) -> Vector:
        """Their standard deviations."""
        return self.variance.sqrt()

    def function(self, model: TwoUnits, x: Points, rng: Generator) -> tuple[Points, Points]:
        """Return the moments of the message to the output; the stream is not used."""
        network = Network(network_of(model.slope), (1,), reference)
        w, b, v, c = (Gaussian.of(self.mean[g], self.variance[g])[None] for g in GROUPS.values())
        first = Weights(Gaussian(w.tau.view(1, UNITS, 1), w.rho.view(1, UNITS, 1)), b)
        second = Weights(Gaussian(v.tau.view(1, 1, UNITS), v.rho.view(1, 1, UNITS)), c)
        network.start_from((first, second))
        output = network.predict(x[None, :, None])
        return output.mean[0, :, 0], output.variance[0, :, 0]


@dataclass(frozen=True, eq=False)
class RungPosterior:
    """An approximation of a model's posterior, together with the model."""

    model: TwoUnits
    approximation: Approximation
    diagnostics: Mapping[str, float]

    def predict(self, inputs: Float[Tensor, "points 1"], rng: Generator) -> GaussianPredictive:
        """Return the Gaussian with the exact or sampled moments, including noise."""
        mean, variance = self.approximation.function(self.model, inputs[:, 0].double(), rng)
        variance = variance + self.model.noise_variance
        return GaussianPredictive(mean[None, :, None], variance[None, :, None])


def independent(mean: Vector, variance: Vector) -> Gaussians:
    """Return a Gaussian without covariances that predicts by sampled networks."""
    return Gaussians((Moments(1.0, mean, variance.diag()),))


def without_covariances(part: Moments) -> Moments:
    """Return the Gaussian with the same marginals and no covariances."""
    return Moments(part.mass, part.mean, part.covariance.diagonal().diag())


def within_units(part: Moments) -> Moments:
    """Return the Gaussian with covariances only among each unit's own weights and bias."""
    unit = torch.tensor(UNIT_OF)
    same = unit[:, None] == unit
    return Moments(part.mass, part.mean, part.covariance * same)


def network_of(slope: float) -> Architecture:
    """Return the architecture with two units."""
    return (Linear(UNITS), LeakyReLU(slope), Linear(1))

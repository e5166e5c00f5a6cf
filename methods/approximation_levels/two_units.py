r"""The network of all approximation levels, small enough for its posterior to be known.

$$ y = \sum_h v_h \, \mathrm{LeakyReLU}_\alpha(w_h x + b_h) + c + N(0, \sigma^2), \qquad h = 1, 2 $$

Parameters are vectors of w, b, v and c, in the order of the network's layers.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Generator, Tensor

from bnnbench.datasets.base import Gaussian
from bnnbench.methods.base import Problem, Unsupported
from bnnbench.methods.message_passing.kernels import reference
from bnnbench.methods.message_passing.network import Network
from bnnbench.methods.message_passing.priors import SpectralPrior
from bnnbench.methods.networks.architectures import LeakyReLU, Linear

UNITS, PARAMETERS = 2, 7
GROUPS: Mapping[str, slice] = {
    "first_weights": slice(0, 2),
    "first_biases": slice(2, 4),
    "second_weights": slice(4, 6),
    "second_bias": slice(6, 7),
}
"""Name → parameters of this kind."""
UNIT_OF = (0, 1, 0, 1, 2, 2, 2)
"""The unit, hidden or output, whose input each parameter weighs or shifts."""

Vector = Float64[Tensor, "7"]
Draws = Float64[Tensor, "draws 7"]


@dataclass(frozen=True, eq=False)
class TwoUnits:
    """Rows, prior and noise: everything that the posterior depends on."""

    x: Float64[Tensor, " rows"]
    y: Float64[Tensor, " rows"]
    prior_mean: Vector
    prior_variance: Vector
    noise_variance: float
    slope: float

    def functions(
        self, draws: Draws, x: Float64[Tensor, " points"]
    ) -> Float64[Tensor, "draws points"]:
        """Return each network's function at the inputs."""
        w, b, v, c = (draws[:, part] for part in GROUPS.values())
        result = c
        for unit in range(UNITS):
            z = torch.addcmul(b[:, unit, None], w[:, unit, None], x)
            result = torch.addcmul(result, v[:, unit, None], torch.maximum(z, self.slope * z))
        return result

    def log_likelihood(self, draws: Draws) -> Float64[Tensor, " draws"]:
        """Return the log likelihood of each network, up to a constant."""
        misfit = (self.functions(draws, self.x) - self.y).square().sum(1)
        return misfit / (-2 * self.noise_variance)


def two_units(problem: Problem, rng: Generator) -> TwoUnits:
    """Return the problem under the prior that `MessagePassing` would draw from the same stream.

    Raises `Unsupported` for any other network or likelihood, or several inputs.
    """
    likelihood = problem.likelihood
    match tuple(problem.architecture):
        case (Linear(outputs=2, bias=True), LeakyReLU(slope), Linear(outputs=1, bias=True)):
            pass
        case other:
            raise Unsupported(f"needed Linear(2), LeakyReLU, Linear(1) with biases; got {other}")
    if not isinstance(likelihood, Gaussian) or likelihood.noise_std is None:
        raise Unsupported(f"needed known Gaussian noise; got {likelihood}")
    if problem.input_shape != (1,):
        raise Unsupported(f"needed inputs with one feature; got {problem.input_shape}")
    inputs, targets = problem.train.inputs.double(), problem.train.targets.double()
    torch.randperm(len(inputs), generator=rng, device=rng.device)  # MessagePassing does so first
    network = Network(problem.architecture, (1,), reference)
    layers = SpectralPrior().draw(network.weighted, [rng], problem.train.inputs)
    parts = [part for layer in layers for part in layer.parts()]
    mean = torch.cat([part.mean.double().flatten() for part in parts])
    variance = torch.cat([part.variance.double().flatten() for part in parts])
    noise_variance = likelihood.noise_std**2
    return TwoUnits(inputs[:, 0], targets[:, 0], mean, variance, noise_variance, slope)

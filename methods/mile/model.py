r"""The model that `Mile` and its companion sample: a network, a likelihood and a prior.

A regression of unknown noise has a network with two outputs for each target, a mean and a standard
deviation (`networks.mean_and_std`); known noise and classes leave the network as it is. Weights
are independent: $w \sim N(0, 2 f^2 / \mathrm{fan\_in})$, and biases and other vectors
$N(0, 1)$, so that the prior's functions are of one size for every width.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import Categorical, Likelihood
from bnnbench.methods.base import Problem, Unsupported
from bnnbench.methods.fitting.network_posterior import NetworkPosterior
from bnnbench.methods.fitting.targets import require_output_per_target
from bnnbench.methods.hmc.scaled_networks import AnyScaledNetwork
from bnnbench.methods.networks.architectures import Architecture
from bnnbench.methods.networks.heteroscedastic import widened
from bnnbench.methods.networks.mean_and_std import MeanAndStdNetwork
from bnnbench.methods.networks.shapes import Shape, parameter_slices
from bnnbench.methods.networks.torch_network import TorchNetwork


@dataclass(frozen=True)
class Model:
    """The network and the likelihood of problems of one shape."""

    network: TorchNetwork
    likelihood: Likelihood
    architecture: Architecture
    """The architecture of `network`, with both outputs."""

    @classmethod
    def of(cls, problem: Problem) -> "Model":
        """Return the model of a problem.

        Raises `Unsupported` for outputs that do not fit the targets, for a network that is not a
        function of weights and a single input, and for less than two weights.
        """
        require_output_per_target(problem)
        AnyScaledNetwork.of(problem)  # refuses layers that leave the likelihood undefined
        shape = problem.architecture, problem.input_shape
        likelihood = problem.likelihood
        learned = not isinstance(likelihood, Categorical) and likelihood.noise_std is None
        network = (MeanAndStdNetwork if learned else TorchNetwork)(*shape)
        if network.parameter_count < 2:
            raise Unsupported("needed a network of at least 2 weights, to have directions")
        architecture = widened(problem.architecture) if learned else problem.architecture
        return cls(network, likelihood, architecture)

    @property
    def learns_std(self) -> bool:
        """True if the network outputs standard deviations."""
        return isinstance(self.network, MeanAndStdNetwork)

    @cached_property
    def noise_variance(self) -> float | None:
        """The known variance of the noise; None for classes and for learned noise."""
        if isinstance(self.likelihood, Categorical) or self.likelihood.noise_std is None:
            return None
        return self.likelihood.noise_std**2

    def prior_stds(self, problem: Problem, factor: float | None) -> Float[Tensor, " parameters"]:
        """Return the prior's standard deviations: the problem's, else those of a factor."""
        if problem.prior is not None:
            stds = problem.prior.stds(self.architecture, problem.input_shape)
        else:
            stds = fan_in_stds(self.architecture, problem.input_shape, factor)
        return stds.to(problem.train.inputs)

    def posterior(
        self, weights: Float[Tensor, "draws parameters"], diagnostics: dict[str, float]
    ) -> NetworkPosterior:
        """Return the mixture over weight vectors."""
        buffers = self.network.initial_buffers(weights)
        return NetworkPosterior(
            self.network, self.likelihood, weights, buffers, self.noise_variance, diagnostics
        )


def fan_in_stds(
    architecture: Architecture, input_shape: Shape, factor: float | None
) -> Float[Tensor, " parameters"]:
    """Return f √(2 / fan_in) for matrices and kernels and 1 for vectors, in float64.

    Without a factor all are 1, the prior of the paper and its package.
    """
    parts = parameter_slices(architecture, input_shape)
    stds = [
        1.0 if factor is None or len(part.shape) < 2 else factor * (2 / part.fan_in) ** 0.5
        for part in parts
    ]
    sizes = torch.tensor([part.size for part in parts])
    return torch.tensor(stds, dtype=torch.float64).repeat_interleave(sizes)

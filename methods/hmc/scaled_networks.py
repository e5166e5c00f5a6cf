r"""Networks scaled so that all weights have the same prior.

The weights w of a layer, including biases, act as w / √(fan_in + 1), so that w ~ N(0, 1/λ) in
every layer gives activations of one size: the model of Hernández-Lobato and Adams (2015),
"Probabilistic Backpropagation for Scalable Learning of Bayesian Neural Networks", section 2. In a
layer without bias, weights act as w / √fan_in.

A state is a vector of such weights with padding after or between them. Padding stays 0 if the
sampler gives it no variance. It aligns every member's numbers in memory. Since alignment decides
how they are rounded, a member's results then do not depend on other members.
"""

from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from bnnbench.datasets.base import Categorical, Likelihood
from bnnbench.methods.base import Problem, Unsupported
from bnnbench.methods.fitting.network_posterior import outputs
from bnnbench.methods.hmc.stepped_loss import SteppedLoss
from bnnbench.methods.networks.architectures import (
    AnalyticNorm,
    BatchNorm,
    Dropout,
    GaussianNoise,
    LogisticBernoulli,
    TorchModule,
)
from bnnbench.methods.networks.modules.trials import trial_of
from bnnbench.methods.networks.priors import scales
from bnnbench.methods.networks.shapes import Placed, walk
from bnnbench.methods.networks.torch_network import TorchNetwork

STATE_MULTIPLE = 32
"""The length of a state is a multiple of this: two vector registers of the widest processors."""


@runtime_checkable
class Loss(Protocol):
    """The likelihood of some members as a function of their states, with memory for both."""

    states: Float[Tensor, "members size"]
    gradients: Float[Tensor, "members size"]

    def differentiate(self) -> None:
        """Write the gradients of the losses at the states; gradients of padding are arbitrary."""
        ...

    def value(self) -> Float[Tensor, " members"]:
        """Return the losses, in float64, at the states that were differentiated last."""
        ...

    def outputs(self, points: int) -> Float[Tensor, "members probes outputs"]:
        """Return the means or log probabilities of the first points, at the same states."""
        ...

    def leapfrog(
        self,
        momenta: Float[Tensor, "members size"],
        drift: Float[Tensor, "members size"],
        data_kick: Float[Tensor, "members 1"],
        prior_kick: Float[Tensor, "members 1"],
        steps: Int[Tensor, " members"],
    ) -> None:
        """Move the states and the momenta by this number of steps, in place (`SteppedLoss`)."""
        ...


@runtime_checkable
class ScaledNetwork(Protocol):
    """A network as a function of states."""

    free: Bool[Tensor, " size"]
    """Mask of the weights in a state."""
    groups: list[Int[Tensor, " places"]]
    """Positions of each parameter's weights in a state."""

    def outputs(
        self, states: Float[Tensor, "draws size"], inputs: Float[Tensor, "points *features"]
    ) -> Float[Tensor, "draws points outputs"]:
        """Return the network's outputs for every state."""
        ...

    def weights(self, states: Float[Tensor, "draws size"]) -> Float[Tensor, "draws parameters"]:
        """Return the states as flat weights of a `TorchNetwork`."""
        ...

    def members_at_once(self, points: int) -> int:
        """Return the number of members for which a loss is fastest."""
        ...

    def loss(
        self,
        inputs: Float[Tensor, "members points *features"],
        targets: Shaped[Tensor, "members points *target"],
        likelihood: Likelihood,
    ) -> Loss:
        """Return the loss of members with these data."""
        ...


NO_FUNCTIONS = BatchNorm | AnalyticNorm | Dropout | GaussianNoise | LogisticBernoulli
"""Layers that draw random numbers, or whose output also depends on other inputs."""


class AnyScaledNetwork:
    """Any deterministic architecture, by automatic differentiation."""

    def __init__(self, network: TorchNetwork, reference: Tensor) -> None:
        """`reference` has the number type and the device of the inputs."""
        self.arguments = (network, reference.new_empty(0))
        self.network = network
        self.scale = scales(network.architecture, network.input_shape).to(reference)
        size = padded(len(self.scale), STATE_MULTIPLE)
        places = torch.arange(size, device=self.scale.device)
        self.free = places < len(self.scale)
        self.groups = [places[part.offset : part.stop] for part in self.network.parameters]

    def __reduce__(self) -> tuple[type["AnyScaledNetwork"], tuple[TorchNetwork, Tensor]]:
        """Return the constructor and its arguments, by which a copy is made anew."""
        return type(self), self.arguments

    @classmethod
    def of(cls, problem: Problem) -> "AnyScaledNetwork":
        """Return a problem's network.

        Raises `Unsupported` for a layer that leaves the likelihood of a data set undefined.
        """
        for placed in walk(problem.architecture, problem.input_shape):
            inside = _inside(placed)
            if isinstance(placed.layer, NO_FUNCTIONS) or inside:
                raise Unsupported(
                    "needed a network that is a function of its weights and a single input, so "
                    f"that data have a likelihood; got {placed.layer} at {placed.path}{inside}: "
                    "leave it out"
                )
        network = TorchNetwork(problem.architecture, problem.input_shape)
        return cls(network, problem.train.inputs)

    def weights(self, states: Float[Tensor, "draws size"]) -> Float[Tensor, "draws parameters"]:
        """Return the states as flat weights of a `TorchNetwork`."""
        return states[:, : len(self.scale)] * self.scale

    def outputs(
        self, states: Float[Tensor, "draws size"], inputs: Float[Tensor, "points *features"]
    ) -> Float[Tensor, "draws points outputs"]:
        """Return the network's outputs for every state."""
        buffers = self.network.initial_buffers(states)
        return outputs(self.network, self.weights(states), inputs, buffers)

    def members_at_once(self, points: int) -> int:
        """Return the number of members for which a loss is fastest: all."""
        return 2**30

    def loss(
        self,
        inputs: Float[Tensor, "members points *features"],
        targets: Shaped[Tensor, "members points *target"],
        likelihood: Likelihood,
    ) -> "AutogradLoss":
        """Return the loss of members with these data."""
        return AutogradLoss(self, inputs, targets, isinstance(likelihood, Categorical))


def _inside(placed: Placed) -> str:
    """Return a part of a module that is not a function of weights and a single input, else ""."""
    if not isinstance(placed.layer, TorchModule):
        return ""
    trial = trial_of(placed.layer, placed.input_shape)
    if trial.norms:
        return f" with the batch norm {trial.norms[0]}"
    return " with dropout or other random numbers" if trial.draws or trial.dropouts else ""


class AutogradLoss(SteppedLoss):
    """The loss of any network."""

    def __init__(
        self,
        network: AnyScaledNetwork,
        inputs: Float[Tensor, "members points *features"],
        targets: Shaped[Tensor, "members points *target"],
        categorical: bool,
    ) -> None:
        self.network, self.inputs, self.targets = network, inputs, targets
        self.categorical = categorical
        self.states = inputs.new_zeros(len(inputs), len(network.free))
        self.gradients = torch.zeros_like(self.states)

    def differentiate(self) -> None:
        """Write the gradients of the losses at the states."""
        states = self.states.detach().requires_grad_()
        with torch.enable_grad():
            outputs = self.network.network(self.network.weights(states), self.inputs)
            losses = (log_loss if self.categorical else squared_error)(outputs, self.targets)
            (gradients,) = torch.autograd.grad(losses.sum(), states)
        self.gradients.copy_(gradients)
        self._losses, self._outputs = losses.detach(), outputs.detach()

    def value(self) -> Float[Tensor, " members"]:
        """Return the losses, in float64, at the states that were differentiated last."""
        return self._losses

    def outputs(self, points: int) -> Float[Tensor, "members probes outputs"]:
        """Return the means or log probabilities of the first points, at the same states."""
        first = self._outputs[:, :points]
        return first.log_softmax(-1) if self.categorical else first


def squared_error(
    outputs: Float[Tensor, "members points outputs"],
    targets: Float[Tensor, "members points outputs"],
) -> Float[Tensor, " members"]:
    """Return half the sum of squared errors, in float64."""
    return (outputs - targets).double().square().flatten(1).sum(1) / 2


def log_loss(
    logits: Float[Tensor, "members points classes"], targets: Shaped[Tensor, "members points"]
) -> Float[Tensor, " members"]:
    """Return the negative log likelihood of all points, in nats and float64."""
    of_targets = logits.log_softmax(-1).gather(-1, targets.long().unsqueeze(-1))
    return -of_targets.double().flatten(1).sum(1)


def padded(count: int, multiple: int) -> int:
    """Return the count, rounded up to a multiple."""
    return -(-count // multiple) * multiple

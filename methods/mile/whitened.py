"""The model's networks with weights in units of their prior standard deviations."""

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from bnnbench.datasets.base import Likelihood, Split
from bnnbench.methods.fitting.network_posterior import outputs
from bnnbench.methods.hmc.sampling import Backend
from bnnbench.methods.hmc.stepped_loss import SteppedLoss
from bnnbench.methods.mile.losses import Loss, loss_of
from bnnbench.methods.mile.model import Model


class WhitenedNetwork:
    """A network whose states have the prior N(0, I): a `ScaledNetwork`."""

    def __init__(self, model: Model, stds: Float[Tensor, " parameters"], backend: Backend) -> None:
        self._model, self._stds = model, stds
        self._backend: Backend = backend
        places = torch.arange(len(stds), device=stds.device)
        self.free: Bool[Tensor, " size"] = torch.ones_like(places, dtype=torch.bool)
        self.groups: list[Int[Tensor, " places"]] = [
            places[part.offset : part.stop] for part in model.network.parameters
        ]

    def weights(self, states: Float[Tensor, "draws size"]) -> Float[Tensor, "draws parameters"]:
        """Return the states as flat weights of a `TorchNetwork`."""
        return states * self._stds

    def outputs(
        self, states: Float[Tensor, "draws size"], inputs: Float[Tensor, "points *features"]
    ) -> Float[Tensor, "draws points outputs"]:
        """Return the network's outputs for every state."""
        network = self._model.network
        return outputs(network, self.weights(states), inputs, network.initial_buffers(states))

    def members_at_once(self, points: int) -> int:
        """Return the number of members for which a loss is fastest: all."""
        return 2**30

    def loss(
        self,
        inputs: Float[Tensor, "members points *features"],
        targets: Shaped[Tensor, "members points *target"],
        likelihood: Likelihood,
    ) -> "WhitenedLoss":
        """Return the loss of members with these data."""
        splits = [Split(x, y) for x, y in zip(inputs, targets, strict=True)]
        return WhitenedLoss(loss_of(self._model, splits, self._backend), self._stds)


class WhitenedLoss(SteppedLoss):
    """The negative log likelihood as a function of whitened weights."""

    def __init__(self, plain: Loss, stds: Float[Tensor, " parameters"]) -> None:
        self._plain, self._stds = plain, stds
        self.states = torch.zeros_like(plain.states)
        self.gradients = torch.zeros_like(plain.states)

    def differentiate(self) -> None:
        """Write the gradients of the losses at the states."""
        torch.mul(self.states, self._stds, out=self._plain.states)
        self._plain.differentiate()
        torch.mul(self._plain.gradients, self._stds, out=self.gradients)

    def value(self) -> Float[Tensor, " members"]:
        """Return the losses, in nats and float64, at the states that were differentiated last."""
        return self._plain.value()

    def outputs(self, points: int) -> Float[Tensor, "members probes outputs"]:
        """Return means, means and variances, or log probabilities of the first points."""
        return self._plain.outputs(points)

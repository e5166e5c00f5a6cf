"""Compiled trajectories of rectified perceptrons with a prior precision for every layer."""

from jaxtyping import Float, Int, Shaped
from torch import Tensor

from bnnbench.datasets.base import Likelihood
from bnnbench.methods.hmc.compiled import CompiledLoss, CompiledPerceptron
from bnnbench.methods.hmc.kernels import layered


class CompiledLayers(CompiledPerceptron):
    """A compiled perceptron whose losses take a precision for every weight."""

    def loss(
        self,
        inputs: Float[Tensor, "members points *features"],
        targets: Shaped[Tensor, "members points *target"],
        likelihood: Likelihood,
    ) -> "CompiledLayersLoss":
        """Return the loss of members with these data."""
        return CompiledLayersLoss(self.layers, len(self.free), self._slope, inputs, targets)


class CompiledLayersLoss(CompiledLoss):
    """The loss of members, whose prior kicks are multiplied by the weights' precisions."""

    precisions: Float[Tensor, "members size"]

    def leapfrog(
        self,
        momenta: Float[Tensor, "members size"],
        drift: Float[Tensor, "members size"],
        data_kick: Float[Tensor, "members 1"],
        prior_kick: Float[Tensor, "members 1"],
        steps: Int[Tensor, " members"],
    ) -> None:
        """Move the states and the momenta by this number of steps, in place (`SteppedLoss`)."""
        prior_kicks = prior_kick * self.precisions
        arrays = [each.numpy() for each in (momenta, drift, data_kick, prior_kicks, steps)]
        layered.leapfrog(*self._given, *arrays)

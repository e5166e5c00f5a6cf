r"""Precisions of a perceptron's layers, each with a prior of its own.

The weights of a layer, and apart from them its biases, are N(0, σ²) with

$$ \sigma^2 \sim \text{Inv-}\chi^2(\nu, s^2), \qquad
   1/\sigma^2 \sim \mathrm{Gamma}(\nu/2,\; \nu s^2/2). $$

States are scaled weights (`scaled_networks.py`), and precisions here are those of states.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from bnnbench.datasets.base import Likelihood
from bnnbench.methods.hmc.precisions import GammaPrior
from bnnbench.methods.hmc.scaled_perceptron import Dense, PerceptronLoss, ScaledPerceptron


def of_variance(degrees: float, scale: float, unit: float = 1.0) -> GammaPrior:
    """Return the prior of 1/σ² for σ² ~ Inv-χ²(degrees, scale²), of numbers in units of `unit`."""
    return GammaPrior(degrees / 2, degrees / 2 * (scale / unit) ** 2)


def of_layers(
    layers: Sequence[Dense], degrees: float, scale: float, output_bias_std: float
) -> list[GammaPrior]:
    """Return the prior of each layer's weights, then of its biases.

    After the first layer, `scale` is that of a sum: a weight has scale / inputs^(1 / degrees). The
    biases of outputs have a fixed standard deviation.
    """
    priors = []
    for number, layer in enumerate(layers):
        of_weight = scale / layer.inputs ** (1 / degrees) if number else scale
        priors.append(of_variance(degrees, of_weight, layer.scale))
        priors.append(of_variance(degrees, scale, layer.scale))
    fixed = (layers[-1].scale / output_bias_std) ** 2
    return [*priors[:-1], GammaPrior(1.0, 1.0, fixed=fixed)]


def curvatures(
    layers: Sequence[Dense],
    precisions: Float[Tensor, "groups members"],
    data: Float[Tensor, " members"],
) -> Float[Tensor, "groups members"]:
    """Return rough second derivatives of the energy in each group of states.

    `data` is the number of rows times the noise precision. Squares of inputs are taken as 1, and
    those of weights as the prior has them given the precisions; half of all units are active. The
    states themselves have no part in it, as masses must not depend on them.
    """
    upwards, below = [], torch.ones_like(data)
    for number, layer in enumerate(layers):
        upwards.append(below)
        of_weights, of_biases = precisions[2 * number], precisions[2 * number + 1]
        below = layer.scale**2 * (layer.inputs * below / of_weights + 1 / of_biases) / 2
    rows, through = [], data
    for number, layer in reversed(list(enumerate(layers))):
        of_data = layer.scale**2 * through
        rows += [of_data, of_data * upwards[number]]
        through = of_data * layer.outputs / precisions[2 * number] / 2
    return precisions + torch.stack(rows[::-1])


def directions(layers: Sequence[Dense]) -> Float[Tensor, "directions groups"]:
    """Return directions in the logarithms of precisions, except that of output biases.

    First one for each group; then, for each hidden layer, its weights and biases against the next
    layer's weights: along these, a network of rectifiers does not change.
    """
    count = 2 * len(layers)
    alone = torch.eye(count, dtype=torch.float64)[:-1]
    against = torch.zeros(len(layers) - 1, count, dtype=torch.float64)
    for number, row in enumerate(against):
        row[2 * number : 2 * number + 2], row[2 * number + 2] = 1, -1
    return torch.cat([alone, against])


class Layers(ScaledPerceptron):
    """A perceptron whose losses take a precision for every weight."""

    def loss(
        self,
        inputs: Float[Tensor, "members points *features"],
        targets: Shaped[Tensor, "members points *target"],
        likelihood: Likelihood,
    ) -> "LayersLoss":
        """Return the loss of members with these data."""
        return LayersLoss(self, inputs, targets, likelihood)


class LayersLoss(PerceptronLoss):
    """The loss of a perceptron, whose prior kicks are multiplied by the weights' precisions."""

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
        super().leapfrog(momenta, drift, data_kick, prior_kick * self.precisions, steps)

r"""Priors on the weights of a plain network, stated with the problem.

$$ w \sim N\bigl(0,\; 1 / (\lambda (\mathrm{fan\_in} + 1))\bigr) $$

for the weights and the bias of a layer; a layer without bias has fan_in instead of fan_in + 1. When
scaled by √(fan_in + 1), all weights of all layers have the same prior. Source: Hernández-Lobato and
Adams (2015), "Probabilistic Backpropagation for Scalable Learning of Bayesian Neural Networks",
section 2.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.networks.architectures import Architecture
from bnnbench.methods.networks.shapes import parameter_slices


@dataclass(frozen=True)
class FixedPrecision:
    """A prior of known precision λ, equal for the scaled weights of all layers."""

    precision: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.precision) and self.precision > 0):
            raise ValueError(f"needed a precision above 0; got {self.precision}")

    def stds(
        self, architecture: Architecture, input_shape: tuple[int, ...]
    ) -> Float[Tensor, " parameters"]:
        """Return the standard deviation of every plain weight, in float64.

        The order is the same as in `TorchNetwork.parameters`.
        """
        return scales(architecture, input_shape) * self.precision**-0.5


def scales(architecture: Architecture, input_shape: tuple[int, ...]) -> Float[Tensor, " weights"]:
    """Return 1 / √(fan_in + 1) for every weight, or 1 / √fan_in without a bias, in float64."""
    slices = parameter_slices(architecture, input_shape)
    biased = {part.owner for part in slices if part.name == "bias"}
    factors = ((part.fan_in + (part.owner in biased)) ** -0.5 for part in slices)
    return torch.cat(
        [
            torch.full((part.size,), factor, dtype=torch.float64)
            for part, factor in zip(slices, factors, strict=True)
        ]
    )

"""Prior means and variances of weights. Source: paper 000, section 3 and appendix D."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

import torch
from torch import Generator, Tensor

from bnnbench.methods.fitting.settings import require_choice, require_positive
from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.layers.weighted import WeightedLayer, Weights

BIAS_VARIANCE = 0.5
OUTPUT_VARIANCE = 1.5
"""The variance of a pre-activation under the prior, without its bias."""
# For LeakyReLU(0.1) at N(mu, 2), mu standard normal: the expected variance, the variance of the
# mean and the squared expectation of the mean.
VARIANCE = 0.8040586726631379
MEAN_VARIANCE = 0.32419
MEAN_SQUARE = 0.62189**2


@dataclass(frozen=True)
class SpectralPrior:
    """Random means that preserve the scale of activations, and variances to match.

    Only the means break the symmetry between units; they are drawn once for every fit.
    """

    variances: Literal["published", "corrected"] = "published"
    """`corrected`: variances that give a later layer's pre-activations a variance of 2 in the model
    of the derivation. The published ones are larger."""
    means: Literal["normal", "orthogonal"] = "normal"
    """`orthogonal`: rows of a random orthogonal matrix, with the same root mean square."""
    scale: float = 1.0
    """A factor for all variances of weights."""
    mean_scale: float = 1.0
    """A factor for all means of weights. The published means can be too small for a narrow network
    to propagate differences between inputs (docs/message_passing_overconfidence.md)."""

    def __post_init__(self) -> None:
        require_choice(self, "variances", ("published", "corrected"))
        require_choice(self, "means", ("normal", "orthogonal"))
        require_positive(self, "scale", "mean_scale")

    def draw(
        self, layers: Sequence[WeightedLayer], rngs: Sequence[Generator], inputs: Tensor
    ) -> list[Weights]:
        """Return the prior of every layer, with means drawn from each member's stream.

        Its type and device are the same as for `inputs`.
        """
        return [self._layer(layer, k == 0, rngs, inputs) for k, layer in enumerate(layers)]

    def _layer(
        self, layer: WeightedLayer, first: bool, rngs: Sequence[Generator], inputs: Tensor
    ) -> Weights:
        shape = layer.map.weight_shape
        fan_in, outputs = prod(shape[1:]), prod(layer.map.output_shape)
        means = torch.stack([self._means(shape, rng, inputs) for rng in rngs])
        variance = self.scale * self.variance(fan_in, outputs, first)
        means = means * (self.mean_scale * mean_std(fan_in, outputs))
        weight = Gaussian.of(means, torch.full_like(means, variance))
        if not layer.map.layer.bias:
            return Weights(weight, None)
        zeros = inputs.new_zeros(len(rngs), shape[0])
        return Weights(weight, Gaussian.of(zeros, torch.full_like(zeros, BIAS_VARIANCE)))

    def variance(self, fan_in: int, outputs: int, first: bool) -> float:
        """Return the variance of each weight."""
        if first:
            return OUTPUT_VARIANCE / fan_in
        left = OUTPUT_VARIANCE - VARIANCE * min(1.0, outputs / fan_in)
        if self.variances == "corrected":
            return left / (fan_in * (VARIANCE + MEAN_VARIANCE + MEAN_SQUARE))
        return left / (VARIANCE + MEAN_VARIANCE * (1 + MEAN_SQUARE) * fan_in)

    def _means(self, shape: tuple[int, ...], rng: Generator, inputs: Tensor) -> Tensor:
        """Return means of unit mean square."""
        normal = torch.randn(shape, generator=rng, dtype=inputs.dtype, device=rng.device)
        normal = normal.to(inputs.device)
        if self.means == "normal":
            return normal
        matrix = normal.flatten(1)
        tall = matrix if matrix.shape[0] >= matrix.shape[1] else matrix.mT
        q, r = torch.linalg.qr(tall)
        q = q * r.diagonal().sign()  # uniform over orthogonal matrices
        q = q if tall is matrix else q.mT
        return q.reshape(shape) * max(matrix.shape) ** 0.5


def mean_std(fan_in: int, outputs: int) -> float:
    """Return the standard deviation of the prior means of a layer.

    `outputs` counts all positions of a convolution.
    """
    return min(1.0, (outputs / fan_in) ** 0.5) / fan_in**0.5

r"""Regression networks that output a noise standard deviation for each input beside its mean.

The last layer has a second unit per target. With its output r(x),
$\sigma(x) = \mathrm{softplus}(r(x)) + 10^{-6}$.

Source: the package sklearn-contrib-bde of Sommer et al. (2025), "Microcanonical Langevin
Ensembles". `HeteroscedasticNetwork` has another variance, and so is another model under the same
prior.
"""

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.networks.architectures import Architecture, Layer
from bnnbench.methods.networks.heteroscedastic import HeteroscedasticNetwork, softplus, widened
from bnnbench.methods.networks.passes import Rule
from bnnbench.methods.networks.shapes import Shape
from bnnbench.methods.networks.torch_network import TorchNetwork

SMALLEST_STD = 1e-6


class MeanAndStdNetwork(HeteroscedasticNetwork):
    """The widened architecture; outputs are the means of all targets, then their variances."""

    def __init__(
        self,
        architecture: Architecture,
        input_shape: Shape,
        rules: Mapping[type[Layer], Rule] | None = None,
    ) -> None:
        TorchNetwork.__init__(self, widened(architecture), input_shape, rules)
        self.arguments = (architecture, input_shape, rules)

    def __call__(self, weights, inputs, **options) -> Float[Tensor, "members points both"]:
        """Return means and variances, side by side on the last axis; the options are the same."""
        return with_variances(TorchNetwork.__call__(self, weights, inputs, **options))


def with_variances(outputs: Float[Tensor, "*shape both"]) -> Float[Tensor, "*shape both"]:
    """Return means and variances, given means and raw standard deviations."""
    means, raw = outputs.chunk(2, -1)
    return torch.cat([means, (softplus(raw) + SMALLEST_STD).square()], -1)

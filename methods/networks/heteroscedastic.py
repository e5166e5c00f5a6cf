r"""Regression networks that output a noise variance for each input in addition to its mean.

The last layer has a second unit per target. With its output g(x) and one number v shared by all
inputs, $\sigma^2(x) = \mathrm{softplus}(g(x)) + \mathrm{softplus}(v)$; v is the last number of the
flat weight vector and starts at 0.

Source: the public code of Izmailov et al. (2019), "Subspace Inference for Bayesian Deep
Learning", on which seed paper 002 builds.
"""

import math
from collections.abc import Mapping
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.base import Unsupported
from bnnbench.methods.networks.architectures import (
    Architecture,
    Layer,
    Linear,
    MeanAndLogVariance,
    ReLU,
)
from bnnbench.methods.networks.passes import Rule
from bnnbench.methods.networks.shapes import ParameterSlice, Shape
from bnnbench.methods.networks.torch_network import TorchNetwork


class HeteroscedasticNetwork(TorchNetwork):
    """The widened architecture; outputs are the means of all targets, then their variances."""

    def __init__(
        self,
        architecture: Architecture,
        input_shape: Shape,
        rules: Mapping[type[Layer], Rule] | None = None,
    ) -> None:
        super().__init__(widened(architecture), input_shape, rules)
        self.arguments = (architecture, input_shape, rules)
        # A kind of layer without random initialisation, for which `fill` sets the number to 0.
        shared = ParameterSlice("noise.variance", ReLU(), (1,), self.parameter_count, 1)
        self.parameters = (*self.parameters, shared)
        self.parameter_count += 1

    def __call__(self, weights, inputs, **options) -> Float[Tensor, "members points both"]:
        """Return means and variances, side by side on the last axis; the options are the same."""
        means, raw = super().__call__(weights, inputs, **options).chunk(2, -1)
        stack = weights if isinstance(weights, Tensor) else weights[0]
        variances = softplus(raw) + softplus(stack[:, -1:, None])
        return torch.cat([means, variances], -1)


def states_variance(architecture: Architecture) -> bool:
    """Return whether a network outputs means and variances by its architecture."""
    return bool(architecture) and isinstance(architecture[-1], MeanAndLogVariance)


def widened(architecture: Architecture) -> Architecture:
    """Return the architecture with twice the outputs in its last layer, a linear one.

    Raises `Unsupported` for a network that ends in another layer.
    """
    *before, last = architecture
    if not isinstance(last, Linear):
        raise Unsupported(
            "needed a network that ends in a linear layer, to add an output for the noise "
            f"variance (or heteroscedastic=False); got {last}"
        )
    return (*before, replace(last, outputs=2 * last.outputs))


def softplus(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Return log(1 + exp(x)), rounded independently of memory position; slope 1/2 at 0."""
    above = x.clamp_min(0)
    return above + (x - 2 * above).exp().log1p()


def gaussian_losses(
    outputs: Float[Tensor, "members points both"],
    targets: Float[Tensor, "members points outputs"],
) -> Float[Tensor, "members points"]:
    """Return the negative log likelihood of each row, in nats, given means and variances."""
    means, variances = outputs.chunk(2, -1)
    terms = (targets - means).square() / variances + variances.log() + math.log(2 * math.pi)
    return 0.5 * terms.sum(-1)

"""Weights rescaled so that the units of every layer start with mean 0 and variance 1.

Layers are processed in order of data flow, each with the statistics after the layers rescaled
before it. A layer without a bias, which a norm follows, is rescaled but not centred.
Source: paper 001, section 4, after Salimans and Kingma (2016).
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.base import Problem
from bnnbench.methods.fitting.minibatches import Minibatches
from bnnbench.methods.moments.rules import Formulas
from bnnbench.methods.moments.single_pixel import Pixel, single_pixel_rules
from bnnbench.methods.networks.architectures import Conv2d, Layer, Linear
from bnnbench.methods.networks.passes import Parameters, Pass, Rule
from bnnbench.methods.networks.torch_layers import RULES, channel_moments, realigned
from bnnbench.methods.networks.torch_network import TorchNetwork

Rescaling = Literal["none", "bn", "ap2"]
"""Statistics used to rescale weights before training: none, a batch's without noise, or a single
pixel's."""

Statistic = Callable[[Any], tuple[Tensor, Tensor]]
"""Output of a layer -> mean and variance of each member's channels."""


LARGE_BATCH = 1000
"""Number of rows in the batch used to rescale weights before training."""


def rescale(
    network: TorchNetwork,
    weights: Float[Tensor, "members parameters"],
    problems: Sequence[Problem],
    rngs: Sequence[torch.Generator],
    rule: Rescaling,
    formulas: Formulas = Formulas(),
) -> None:
    """Rescale each member's weights, given its problem's training inputs."""
    if rule == "bn":
        batch, _ = next(Minibatches(problems, rngs, LARGE_BATCH).epoch())
        rescale_by_batch(network, weights, batch)
    elif rule == "ap2":
        pixel = Pixel.of_data([problem.train.inputs for problem in problems])
        rescale_by_pixel(network, weights, pixel, formulas)


@torch.no_grad()
def rescale_by_batch(
    network: TorchNetwork,
    weights: Float[Tensor, "members parameters"],
    inputs: Float[Tensor, "members points *features"],
) -> None:
    """Rescale the weights so that every channel has mean 0 and variance 1 over the batch."""
    twin = TorchNetwork(network.architecture, network.input_shape, _rules(RULES, _of_batch))
    buffers = network.initial_buffers(weights, list(inputs))
    twin(weights, inputs, buffers=buffers, training=True, noise="off")


@torch.no_grad()
def rescale_by_pixel(
    network: TorchNetwork,
    weights: Float[Tensor, "members parameters"],
    pixel: Pixel,
    formulas: Formulas = Formulas(),
) -> None:
    """Rescale the weights so that the pixel has mean 0 and variance 1 in every channel."""
    rules = single_pixel_rules(formulas)
    rules |= _rules(rules, _of_pixel)
    TorchNetwork(network.architecture, network.input_shape, rules)(weights, pixel)


def _rules(rules: dict[type[Layer], Rule], statistic: Statistic) -> dict[type[Layer], Rule]:
    return {kind: _rescaling(rules[kind], statistic) for kind in (Linear, Conv2d)}


def _rescaling(rule: Rule, statistic: Statistic) -> Rule:
    def rescale(layer: Any, stacks: Sequence[Parameters], x: Any, context: Pass) -> Any:
        (parameters,) = stacks
        mean, variance = statistic(rule(layer, stacks, x, context))
        std = torch.where(variance > 0, variance, 1).sqrt()  # a constant channel has no scale
        weight = parameters["weight"]
        weight.div_(std.view(*std.shape, *(1,) * (weight.dim() - 2)))
        if "bias" in parameters:
            parameters["bias"].sub_(mean).div_(std)
        return rule(layer, stacks, x, context)

    return rescale


def _of_pixel(pixel: Pixel) -> tuple[Tensor, Tensor]:
    return pixel.statistic["mean"], pixel.statistic["variance"]


def _of_batch(x: Tensor) -> tuple[Tensor, Tensor]:
    mean, variance = zip(*(channel_moments(realigned(row)) for row in x), strict=True)
    return torch.stack(mean), torch.stack(variance)

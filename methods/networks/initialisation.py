"""Distributions of initial weights, one keyword for a whole network.

fan_in is the number of inputs of a unit (channels kernel² for a convolution), fan_out the number
of outputs that one input reaches. Norms always start as the identity.
"""

import math
from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from bnnbench.methods.networks.architectures import Conv2d, Linear
from bnnbench.methods.networks.shapes import ParameterSlice

Initialisation = Literal["torch", "xavier", "he_fan_out", "he_truncated"]
"""`torch`: U(±1/√fan_in), weights and biases.
`xavier`: weights U(±√(6/(fan_in + fan_out))), biases as in `torch`.
`he_fan_out`: convolutions N(0, 2/fan_out) without bias, dense layers as in `torch`.
`he_truncated`: N(0, s²) cut at ±2s with variance 2/fan_in, no biases."""

TRUNCATED_STD = 0.87962566
"""The standard deviation of N(0, 1) cut at ±2."""


def fill(
    values: Float[Tensor, " weights"],
    part: ParameterSlice,
    rule: Initialisation,
    rng: Generator,
) -> None:
    """Fill one parameter of one member with its initial values."""
    if rule not in get_args(Initialisation):
        raise ValueError(f"needed one of {get_args(Initialisation)}; got {rule!r}")
    if not isinstance(part.layer, Linear | Conv2d):
        values.fill_(1 if part.name == "weight" else 0)
    elif rule == "xavier" and part.name == "weight":
        bound = math.sqrt(6 / (part.fan_in + _fan_out(part.layer)))
        values.uniform_(-bound, bound, generator=rng)
    elif rule in ("torch", "xavier") or (rule == "he_fan_out" and isinstance(part.layer, Linear)):
        bound = 1 / math.sqrt(part.fan_in)
        values.uniform_(-bound, bound, generator=rng)
    elif part.name == "bias":
        values.zero_()
    elif rule == "he_fan_out":
        values.normal_(0, math.sqrt(2 / _fan_out(part.layer)), generator=rng)
    else:
        std = math.sqrt(2 / part.fan_in) / TRUNCATED_STD
        torch.nn.init.trunc_normal_(values, 0, std, -2 * std, 2 * std, generator=rng)


def _fan_out(layer: Linear | Conv2d) -> int:
    return layer.channels * layer.kernel**2 if isinstance(layer, Conv2d) else layer.outputs

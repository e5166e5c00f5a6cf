"""A perceptron whose initialisation differs from torch's."""

from collections.abc import Sequence
from itertools import pairwise

from torch import nn


def lecun_mlp(widths: Sequence[int]) -> nn.Sequential:
    """Return dense layers with ReLU between them, for flattened inputs.

    Initial weights are N(0, 1/fan-in), three times the variance of torch's default, and initial
    biases 0. Source: LeCun, Bottou, Orr and Müller (1998), "Efficient BackProp", section 4.6.
    """
    layers: list[nn.Module] = [nn.Flatten()]
    for inputs, outputs in pairwise(widths):
        dense = nn.Linear(inputs, outputs)
        nn.init.normal_(dense.weight, std=inputs**-0.5)
        nn.init.zeros_(dense.bias)
        layers += [dense, nn.ReLU()]
    return nn.Sequential(*layers[:-1])

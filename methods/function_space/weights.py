"""Flat weight vectors: the positions of random numbers, and their replacement."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.base import Unsupported
from bnnbench.methods.networks.architectures import Conv2d, Linear, TorchModule
from bnnbench.methods.networks.shapes import ParameterSlice
from bnnbench.methods.networks.torch_network import TorchNetwork


def repeated(stacked: Tensor, times: int) -> Tensor:
    """Return every problem's part `times` times in a row."""
    return stacked if times == 1 else stacked.repeat_interleave(times, 0)


def softplus(rho: Tensor) -> Tensor:
    """Return log(1 + exp(ρ)); unlike the library's, it rounds an element alike in any place."""
    return rho.exp().log1p()


def hidden_weights(network: TorchNetwork) -> list[ParameterSlice]:
    """Return the positions of the weights, not biases, of all layers but the last.

    Raises `Unsupported` for a network of a single layer, and for one with a TorchModule.
    """
    for part in network.parameters:
        if isinstance(part.layer, TorchModule):
            raise Unsupported(
                "needed layers of this project, whose weights are known from biases; got "
                f"{part.layer}"
            )
    weights = [
        part
        for part in network.parameters
        if isinstance(part.layer, Linear | Conv2d) and part.name == "weight"
    ]
    if len(weights) < 2:
        raise Unsupported("needed a hidden layer, whose weights are random; got a single layer")
    return weights[:-1]


def replaced(
    weights: Float[Tensor, "networks parameters"],
    parts: Sequence[ParameterSlice],
    values: Sequence[Float[Tensor, "networks _"]],
) -> Float[Tensor, "networks parameters"]:
    """Return the weights with other values in some places."""
    pieces, position = [], 0
    for part, value in zip(parts, values, strict=True):
        pieces += [weights[:, position : part.offset], value]
        position = part.stop
    return torch.cat([*pieces, weights[:, position:]], 1)

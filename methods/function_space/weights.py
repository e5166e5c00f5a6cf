"""Flat weight vectors: the positions of random weights, and their replacement."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.base import Unsupported
from bnnbench.methods.networks.architectures import Conv2d, Linear, TorchModule
from bnnbench.methods.networks.shapes import ParameterSlice
from bnnbench.methods.networks.torch_network import TorchNetwork


def repeated(stacked: Tensor, times: int) -> Tensor:
    """Return every problem's part repeated `times` times in succession."""
    return stacked if times == 1 else stacked.repeat_interleave(times, 0)


def softplus(rho: Tensor) -> Tensor:
    """Return log(1 + exp(ρ)); unlike torch's, its rounding is the same in every position."""
    return rho.exp().log1p()


def hidden_weights(network: TorchNetwork) -> list[ParameterSlice]:
    """Return the positions of the weights, not biases, of all layers except the last.

    Raises `Unsupported` for a network with a single layer or with a TorchModule.
    """
    for part in network.parameters:
        if isinstance(part.layer, TorchModule):
            raise Unsupported(
                f"needed bnnbench's own layers, which tell weights from biases; got {part.layer}"
            )
    weights = [
        part
        for part in network.parameters
        if isinstance(part.layer, Linear | Conv2d) and part.name == "weight"
    ]
    if len(weights) < 2:
        raise Unsupported("needed a hidden layer, for random weights; got a single layer")
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

"""The smallest batch that a network accepts in training."""

from functools import lru_cache

import torch

from bnnbench.methods.networks.architectures import Architecture, BatchNorm, TorchModule
from bnnbench.methods.networks.shapes import Shape, walk
from bnnbench.methods.networks.torch_network import TorchNetwork


@lru_cache(64)
def least_rows(architecture: Architecture, input_shape: Shape) -> int:
    """Return the least number of rows in a training batch: 1, or 2 if one row has no variance.

    A batch norm needs two values per channel. Networks that may have one are tried with one row; a
    module of the user's own that fails for any reason is not trained on a row by itself.
    """
    layers = (placed.layer for placed in walk(architecture, input_shape))
    if not any(isinstance(layer, BatchNorm | TorchModule) for layer in layers):
        return 1
    try:
        _train_on_one_row(TorchNetwork(architecture, input_shape))
    except Exception:  # a module may raise anything
        return 2
    return 1


@torch.no_grad()
def _train_on_one_row(network: TorchNetwork) -> None:
    rng = torch.Generator().manual_seed(0)
    weights, inputs = network.initial_weights([rng]), torch.zeros(1, 1, *network.input_shape)
    buffers = network.initial_buffers(weights, [inputs[0]])
    network(weights, inputs, buffers=buffers, training=True, rngs=[rng])

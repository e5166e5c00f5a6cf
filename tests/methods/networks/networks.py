"""Small networks of every kind, and weights for them."""

import torch

from bnnbench.methods.networks.architectures import (
    AvgPool2d,
    BatchNorm,
    Conv2d,
    FeatureResponseNorm,
    Flatten,
    GlobalAvgPool2d,
    LeakyReLU,
    Linear,
    MaxPool2d,
    ReLU,
    Residual,
    Sigmoid,
    Swish,
    Tanh,
)
from bnnbench.methods.networks.catalogue import mlp


def streams(members, seed=0):
    return [torch.Generator().manual_seed(seed + member) for member in range(members)]


def random(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def weights_of(network, members=1, dtype=torch.float64, scale=0.2):
    """Return initial weights, shifted so that no scale is 1 and no offset 0."""
    start = network.initial_weights(streams(members), dtype=dtype)
    return start + scale * random(*start.shape, seed=9, dtype=dtype)


BLOCK = Residual(
    (Conv2d(6, 3, 2, (0, 1)), FeatureResponseNorm(), Swish()), (Conv2d(6, 1, 2, bias=False),)
)
SMALL_NETWORKS = {
    "perceptron": (mlp((50,), 1), (13,)),
    "classifier": (mlp((33, 18), 10, LeakyReLU(0.1)), (7,)),
    "one input": (mlp((16, 16), 2, Tanh()), (1,)),
    "sigmoid": (mlp((9,), 3, Sigmoid(), norm=BatchNorm()), (5,)),
    "multiples of four": (mlp((256, 256), 4, Swish(), norm=BatchNorm()), (8,)),
    "residual": ((Conv2d(5, 3), BLOCK, MaxPool2d(2), Flatten(), Linear(3)), (3, 10, 10)),
    "norms": (
        (
            *(Conv2d(5, 3, bias=False), BatchNorm(), ReLU(), Conv2d(4, 1), AvgPool2d(2)),
            *(BatchNorm(), GlobalAvgPool2d(), Linear(3)),
        ),
        (1, 9, 9),
    ),
}

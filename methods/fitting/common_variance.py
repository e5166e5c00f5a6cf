"""The number that all inputs share in the noise variance of a heteroscedastic network."""

import math

from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.networks.heteroscedastic import HeteroscedasticNetwork
from bnnbench.methods.networks.torch_network import TorchNetwork

LOG_SMALLEST = math.log(1e-6)
"""Log of the shared variance at the start."""


def start_small(network: TorchNetwork, weights: Float[Tensor, "*members parameters"]) -> None:
    """Set the shared part of a network's variance to 1e-6, in place, if it has one.

    From its usual start of log 2, a variance below takes many steps on few rows.
    """
    if isinstance(network, HeteroscedasticNetwork):
        weights[..., -1] = LOG_SMALLEST

r"""An epinet: a network that adds to a base network's outputs a function of a random index z.

$$ f(x, z) = \mathrm{base}(x) + s(h(x), x, z)^T z + \frac{a}{\sqrt d} \sum_j P_j(x) z_j $$

with $z \sim N(0, I)$ of dimension d. The last hidden vector h of the base gets no gradient through
s; the prior networks P_j are random and fixed, standardised on the training rows.

Source: Osband et al. (2023), "Epistemic Neural Networks".
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.networks.architectures import Architecture, Linear, ReLU
from bnnbench.methods.networks.torch_network import TorchNetwork

Outputs = Float[Tensor, "members points outputs"]


def perceptron(hidden: tuple[int, ...], outputs: int) -> Architecture:
    """Return a perceptron of ReLU units."""
    layers = [layer for width in hidden for layer in (Linear(width), ReLU())]
    return (*layers, Linear(outputs))


def epinet_outputs(
    network: TorchNetwork,
    weights: Float[Tensor, "members parameters"],
    known: Float[Tensor, "members points known"],
    indices: Float[Tensor, "members draws dimension"],
) -> Float[Tensor, "members points draws outputs"]:
    r"""Return $s(\cdot, z)^T z$ of each point and index; `known` are its other inputs."""
    points, (draws, dimension) = known.shape[1], indices.shape[1:]
    both = torch.cat(
        [
            known.unsqueeze(2).expand(-1, -1, draws, -1),
            indices.unsqueeze(1).expand(-1, points, -1, -1),
        ],
        dim=-1,
    )
    matrices = network(weights, both.flatten(1, 2)).unflatten(1, (points, draws))
    matrices = matrices.unflatten(-1, (-1, dimension))
    return (matrices * indices[:, None, :, None]).sum(-1)


def prior_outputs(
    values: Float[Tensor, "members points outputs dimension"],
    indices: Float[Tensor, "members draws dimension"],
) -> Float[Tensor, "members points draws outputs"]:
    r"""Return $\frac{1}{\sqrt d} \sum_j P_j(x) z_j$ of each point and index."""
    products = values.unsqueeze(2) * indices[:, None, :, None]
    return products.sum(-1) / math.sqrt(indices.shape[-1])


@dataclass(frozen=True)
class PriorNetworks:
    """Fixed random networks, one for each dimension of the index."""

    network: TorchNetwork
    weights: Float[Tensor, "dimension parameters"]
    means: Float[Tensor, "outputs dimension"]
    """Mean over the training rows of each output."""
    stds: Float[Tensor, "outputs dimension"]

    @classmethod
    def standardised(
        cls,
        network: TorchNetwork,
        weights: Float[Tensor, "dimension parameters"],
        inputs: Float[Tensor, "points features"],
    ) -> "PriorNetworks":
        """Return networks whose outputs have mean 0 and standard deviation 1 over the inputs."""
        zeros = weights.new_zeros(*network.output_shape, len(weights))
        raw = cls(network, weights, zeros, torch.ones_like(zeros))(inputs)
        stds = raw.std(0, correction=0)
        return cls(network, weights, raw.mean(0), torch.where(stds > 0, stds, 1.0))

    def __call__(
        self, inputs: Float[Tensor, "points features"]
    ) -> Float[Tensor, "points outputs dimension"]:
        """Return the value of each network at each point."""
        values = self.network(self.weights, inputs[None]).permute(1, 2, 0)
        return (values - self.means) / self.stds


def unit_directions(
    normals: Float[Tensor, "points dimension"],
) -> Float[Tensor, "points dimension"]:
    """Return a uniform direction for each row of standard normals."""
    return torch.nn.functional.normalize(normals, dim=1)

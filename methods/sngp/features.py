r"""Random features of a Gaussian process, and its Laplace approximation for classes.

Sources: Rahimi and Recht (2007), "Random Features for Large-Scale Kernel Machines"; Liu et al.
(2020), "Simple and Principled Uncertainty Estimation with Deterministic Deep Learning via Distance
Awareness".
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from bnnbench.methods.fitting.network_posterior import POINTS_AT_ONCE
from bnnbench.methods.networks.torch_layers import affine
from bnnbench.methods.networks.torch_network import TorchNetwork


def cosines(
    inputs: Float[Tensor, "members points width"],
    frequencies: Float[Tensor, "members features width"],
    phases: Float[Tensor, "members features"],
) -> Float[Tensor, "members points features"]:
    r"""Return $\sqrt{2 / M} \cos(\Omega h + b)$ for M features of normalised inputs h.

    An input has mean 0 and variance 1 over its width. With standard normal frequencies over a
    length and phases uniform in $[0, 2 \pi]$, the products of two points' features have the
    squared-exponential kernel as their mean.
    """
    normalised = functional.layer_norm(inputs, inputs.shape[-1:])
    return scaled_cosines(normalised, frequencies, phases)


def scaled_cosines(
    inputs: Float[Tensor, "members points width"],
    frequencies: Float[Tensor, "members features width"],
    phases: Float[Tensor, "members features"],
) -> Float[Tensor, "members points features"]:
    """Return the features of inputs as they are."""
    return math.sqrt(2 / phases.shape[1]) * affine(inputs, frequencies, phases).cos()


@dataclass(frozen=True)
class RandomFeatures:
    """The random features of a trained body's outputs."""

    body: TorchNetwork
    weights: Float[Tensor, "1 parameters"]
    frequencies: Float[Tensor, "1 features width"]
    phases: Float[Tensor, "1 features"]

    def __call__(self, inputs: Float[Tensor, "points *inputs"]) -> Float[Tensor, "points features"]:
        """Return the features of each point, with gradient."""
        parts = [
            cosines(self.body(self.weights, points[None]), self.frequencies, self.phases)[0]
            for points in inputs.split(POINTS_AT_ONCE)
        ]
        return torch.cat(parts)

    def largest_norm(self) -> float:
        """Return the largest spectral norm of the body's residual matrices; 0 without any."""
        matrices = [
            self.weights[0, part.offset : part.stop].view(part.shape)
            for part in self.body.parameters
            if ".body." in part.path and part.name == "weight"
        ]
        norms = [float(torch.linalg.matrix_norm(matrix, 2)) for matrix in matrices]
        return max(norms, default=0.0)


def precisions(
    features: Float[Tensor, "points features"],
    weights: Float[Tensor, "points heads"],
    ridge: float,
) -> Float[Tensor, "heads features features"]:
    r"""Return the posterior precision of each head's weights.

    $$ A_k = \lambda I + \sum_n w_{nk} \phi_n \phi_n^T $$

    For classes, $w_{nk} = p_{nk} (1 - p_{nk})$; for a regression, one over the noise variance.
    """
    identity = torch.eye(features.shape[1], dtype=features.dtype, device=features.device)
    weighted = [(features * of_head.unsqueeze(1)).mT @ features for of_head in weights.mT]
    return ridge * identity + torch.stack(weighted)


def covariance_roots(
    precision: Float[Tensor, "heads features features"],
) -> Float[Tensor, "heads features features"]:
    """Return R with R Rᵀ equal to the inverse of each precision; it is upper triangular."""
    lower = torch.linalg.cholesky(precision)
    identity = torch.eye(lower.shape[-1], dtype=lower.dtype, device=lower.device)
    return torch.linalg.solve_triangular(lower.mT, identity.expand_as(lower), upper=True)


def variances(
    features: Float[Tensor, "points features"], roots: Float[Tensor, "heads features features"]
) -> Float[Tensor, "points heads"]:
    r"""Return $\phi^T A_k^{-1} \phi$ of each point and head."""
    return torch.stack([(features @ root).square().sum(1) for root in roots], 1)


def mean_field(
    logits: Float[Tensor, "points heads"], of_logits: Float[Tensor, "points heads"], factor: float
) -> Float[Tensor, "points heads"]:
    r"""Return $g / \sqrt{1 + c v}$; with $c = \pi / 8$ MacKay's approximation of their mean."""
    return logits / (1 + factor * of_logits).sqrt()

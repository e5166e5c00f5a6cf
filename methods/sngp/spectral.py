"""Bounds on the spectral norms of stacked matrices, by power iteration."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from bnnbench.methods.networks.torch_layers import affine

Matrices = Float[Tensor, "members rows columns"]
Vectors = Float[Tensor, "members rows"]


def power_iteration(matrices: Matrices, left: Vectors) -> tuple[Vectors, Float[Tensor, " members"]]:
    r"""Return improved left singular vectors u, and estimates $\sigma = u^T W v$ of the norms.

    One step is $v = W^T u / |W^T u|$, $u = W v / |W v|$.
    """
    right = functional.normalize(affine(left.unsqueeze(1), matrices.mT.contiguous())[:, 0], dim=1)
    image = affine(right.unsqueeze(1), matrices)[:, 0]
    left = functional.normalize(image, dim=1)
    return left, (left * image).sum(1)


@torch.no_grad()
def bound_norms(matrices: Matrices, left: Vectors, bounds: Float[Tensor, " members"]) -> None:
    """Scale down, in place, the matrices whose estimated norm is above the bound.

    The left singular vectors are improved in place, too.
    """
    improved, norms = power_iteration(matrices, left)
    left.copy_(improved)
    matrices.mul_((bounds / norms).clamp_max(1.0)[:, None, None])

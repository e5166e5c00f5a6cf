"""The curvature of a likelihood with respect to a network's outputs, and the outputs' misfit."""

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from bnnbench.datasets.base import Categorical, Likelihood


def hessian_root(
    likelihood: Likelihood, outputs: Float[Tensor, "points outputs"]
) -> Float[Tensor, "points outputs directions"]:
    r"""Return S such that S Sᵀ is the Hessian of a row's negative log likelihood in its outputs.

    For a regression this is the identity, assuming noise of variance 1. For a classifier, with
    the Hessian diag(p) - p pᵀ, column k is $\sqrt{p_k} (e_k - p)$.
    """
    identity = torch.eye(outputs.shape[1], dtype=outputs.dtype, device=outputs.device)
    if not isinstance(likelihood, Categorical):
        return identity.expand(len(outputs), -1, -1)
    probs = outputs.softmax(-1)
    return (identity - probs[:, :, None]) * probs[:, None].sqrt()


def misfit(
    likelihood: Likelihood,
    outputs: Float[Tensor, "points outputs"],
    targets: Shaped[Tensor, "points *target"],
) -> float:
    """Return a classifier's loss summed over rows, in nats, or half the sum of squared errors."""
    outputs = outputs.double()
    if isinstance(likelihood, Categorical):
        rows = outputs.log_softmax(-1).gather(1, targets[:, None].long())
        return -float(rows.sum())
    return 0.5 * float((outputs - targets).square().sum())

"""The curvature of a likelihood in a network's outputs, and the misfit of outputs."""

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from bnnbench.datasets.base import Categorical, Likelihood


def hessian_root(
    likelihood: Likelihood, outputs: Float[Tensor, "points outputs"]
) -> Float[Tensor, "points outputs directions"]:
    r"""Return S with S Sᵀ the Hessian of the negative log likelihood of a row in its outputs.

    Of a regression that is the identity, noise of variance 1 being meant. Of a classifier,
    whose Hessian is diag(p) - p pᵀ, column k is $\sqrt{p_k} (e_k - p)$.
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
    """Return the sum over rows of a classifier's loss, in nats, or of half the squared errors."""
    outputs = outputs.double()
    if isinstance(likelihood, Categorical):
        rows = outputs.log_softmax(-1).gather(1, targets[:, None].long())
        return -float(rows.sum())
    return 0.5 * float((outputs - targets).square().sum())

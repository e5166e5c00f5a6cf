r"""Precisions of the messages of a whole group to its weights, from the joint posterior.

The messages of rows (a convolution's positions) are treated as independent and their precisions
are summed, which counts similar rows several times. If pre-activations are observed with the
precisions r, the group's exact posterior has the precision $A = \operatorname{diag}(1/s) +
X^T \operatorname{diag}(r) X$. Its marginal of weight k has the precision $1/[A^{-1}]_{kk}$, which
exceeds the group's contribution by $1/s_k$. With $q_{nk} = \sqrt{r_n s_k}\, x_{nk}$ and
$L L^T = 1 + q q^T$, the group contributes $c_k / ((1 - c_k) s_k)$,
$c_k = \sum_n [L^{-1} q]_{nk}^2$.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.maps.base import Inputs, LinearMap, Values, Weights
from bnnbench.methods.message_passing.maps.convolution import Convolution
from bnnbench.methods.networks.torch_layers import affine

AT_ONCE = 2**22
"""Maximum number of values in a matrix of rows by inputs by outputs; outputs are split to fit."""


@dataclass(frozen=True)
class JointPrecisions:
    """Precisions of a group's messages to the weights and biases, if there are biases."""

    weight: Weights
    bias: Float[Tensor, "members outputs"] | None


def joint_precisions(
    map: LinearMap,
    x: Inputs,
    observed: Values,
    variance: Weights,
    bias_variance: Float[Tensor, "members outputs"] | None,
) -> JointPrecisions:
    """Return the precisions of a group's joint messages to every weight and bias.

    `observed` has the precisions of pre-activations; the variances are of weights without the
    group. Exact, except for a convolution with more positions than inputs and several outputs: all
    outputs then use the same position weights (their mean over outputs), up to a factor.
    """
    rows, r = map.rows(x), map.output_rows(observed).mT.double()
    s = map.weight_rows(variance).double()
    if bias_variance is not None:
        rows = torch.cat([rows, torch.ones_like(rows[..., :1])], 2)
        s = torch.cat([s, bias_variance.double()[..., None]], 2)
    if isinstance(map, Convolution) and rows.shape[1] > rows.shape[2]:
        rows, r = _fewer(rows, r)
    outputs = max(1, AT_ONCE // rows.numel())
    parts = zip(r.split(outputs, 1), s.split(outputs, 1), strict=True)
    known = torch.cat([_precisions(rows.double(), *part) for part in parts], 1).to(variance.dtype)
    if bias_variance is None:
        return JointPrecisions(map.from_rows(known), None)
    return JointPrecisions(map.from_rows(known[..., :-1].contiguous()), known[..., -1])


def with_precision(message: Gaussian, mean: Tensor, precision: Float[Tensor, "*shape"]) -> Gaussian:
    """Return the message with another precision and the same force, tau - precision mean."""
    return Gaussian(message.tau + mean * (precision - message.rho), precision)


def shared_out(total: Tensor, rho: Float[Tensor, "members examples *weights"]) -> Tensor:
    """Return a group's total precision, divided in proportion to its examples' precisions."""
    return rho * (total / rho.sum(1).clamp_min(torch.finfo(rho.dtype).tiny))[:, None]


def _precisions(
    rows: Float[Tensor, "members rows inputs"],
    r: Float[Tensor, "members outputs rows"],
    s: Float[Tensor, "members outputs inputs"],
) -> Float[Tensor, "members outputs inputs"]:
    q = (r.sqrt()[..., None] * rows[:, None] * s.sqrt()[:, :, None]).flatten(0, 1)
    eye = torch.eye(q.shape[1], dtype=q.dtype, device=q.device)
    root = torch.linalg.cholesky(eye + affine(q, q))
    known = torch.linalg.solve_triangular(root, q, upper=False).square().sum(1).view_as(s)
    return known / (s * (1 - known).clamp_min(torch.finfo(s.dtype).eps))


def _fewer(rows: Tensor, r: Tensor) -> tuple[Tensor, Tensor]:
    """Return as many rows as inputs, with the same Gram matrix and equal weights in all outputs."""
    weights = r.mean(1)
    weighted = rows * weights.to(rows.dtype).sqrt()[..., None]
    values, vectors = torch.linalg.eigh((weighted.mT @ weighted).double())
    factors = r.sum(2) / weights.sum(1).clamp_min(torch.finfo(r.dtype).tiny)[:, None]
    pseudo = values.clamp_min(0).sqrt()[..., None] * vectors.mT
    return pseudo, factors[..., None].expand(-1, -1, pseudo.shape[1])

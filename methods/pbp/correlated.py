r"""Moments of a network's outputs and their gradients, with the covariances of a layer's units.

Units of one layer share the units of the layer before, which paper 004 neglects. Here a layer's
sums have the covariances $(M C M^T + \mathrm{diag}(V (m^z \circ m^z + \mathrm{diag}\, C))) / k$,
where C are the covariances of its inputs. The covariances of rectified units are those of their
sums times $\Phi(\alpha_i) \Phi(\alpha_j)$: the first term of the series in correlations. Means and
variances of units remain exact for Gaussian sums.
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.pbp.independent import Head, Layers, cdf, relu_moments

ROWS_AT_ONCE = 512


def forward(
    means: Layers, variances: Layers, inputs: Float[Tensor, "points features"]
) -> tuple[Float[Tensor, "points outputs"], Float[Tensor, "points outputs"]]:
    """Return mean and variance of every output."""
    parts = [_forward(means, variances, rows) for rows in inputs.split(ROWS_AT_ONCE)]
    mean, variance = (torch.cat(part) for part in zip(*parts, strict=True))
    return mean, variance


def _forward(means: Layers, variances: Layers, inputs: Tensor) -> tuple[Tensor, Tensor]:
    z = torch.nn.functional.pad(inputs, (0, 1), value=1.0)
    k = z.shape[1]
    mean = z @ means[0].T / math.sqrt(k)
    covariance = torch.diag_embed(z.square() @ variances[0].T / k)
    for m, v in zip(means[1:], variances[1:], strict=True):
        z, joint = rectified(mean, covariance)
        z, joint = torch.nn.functional.pad(z, (0, 1), value=1.0), _padded(joint)
        k = m.shape[1]
        alone = (z.square() + joint.diagonal(dim1=1, dim2=2)) @ v.T / k
        mean = z @ m.T / math.sqrt(k)
        covariance = m @ joint @ m.T / k + torch.diag_embed(alone)
    return mean, covariance.diagonal(dim1=1, dim2=2)


def _padded(joint: Tensor) -> Tensor:
    return torch.nn.functional.pad(joint, (0, 1, 0, 1))


def rectified(
    mean: Float[Tensor, "points units"], covariance: Float[Tensor, "points units units"]
) -> tuple[Float[Tensor, "points units"], Float[Tensor, "points units units"]]:
    """Return mean and covariances of max(0, a)."""
    variance = covariance.diagonal(dim1=1, dim2=2)
    relu, relu_variance = relu_moments(mean, variance)
    above = cdf(mean / variance.sqrt())
    shared = above[:, :, None] * above[:, None] * covariance
    return relu, shared + torch.diag_embed(relu_variance - shared.diagonal(dim1=1, dim2=2))


def gradients(
    means: Layers,
    variances: Layers,
    inputs: Float[Tensor, " features"],
    head: Callable[[Tensor, Tensor], Head],
) -> tuple[float, list[tuple[Float[Tensor, "_units _inputs"], Float[Tensor, "_units _inputs"]]]]:
    """Return -log Z, and the derivatives of log Z by means and variances of each layer's weights.

    `head` returns -log Z and the derivatives of log Z by means and variances of the outputs.
    """
    m, v = ([layer.detach().clone().requires_grad_() for layer in w] for w in (means, variances))
    with torch.enable_grad():
        mean, variance = forward(m, v, inputs[None])
    loss, of_mean, of_variance = head(mean[0].detach(), variance[0].detach())
    by = torch.autograd.grad((mean, variance), [*m, *v], (of_mean[None], of_variance[None]))
    return loss, list(zip(by[: len(m)], by[len(m) :], strict=True))

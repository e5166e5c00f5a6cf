r"""Moments of a network's outputs and their gradients, with independent units in each layer.

Moments are named as in paper 004: a layer of k inputs, mean z and variance v, has the sums
$m^a = M m^z / \sqrt k$ and $v^a = ((M \circ M) v^z + V (m^z \circ m^z) + V v^z) / k$ (eq. 13, 14).
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

Head = tuple[float, Tensor, Tensor]
Layers = Sequence[Float[Tensor, "_units _inputs"]]


def relu_moments(
    mean: Float[Tensor, "*shape"], variance: Float[Tensor, "*shape"]
) -> tuple[Float[Tensor, "*shape"], Float[Tensor, "*shape"]]:
    r"""Return mean and variance of max(0, a) for Gaussian a (eq. 15, 16).

    $\gamma = \varphi(\alpha)/\Phi(\alpha)$ is the reciprocal of a Mills ratio in the lower tail.
    """
    std = variance.sqrt()
    alpha = mean / std
    above, below = cdf(alpha), cdf(-alpha)
    mills = math.sqrt(math.pi / 2) * torch.special.erfcx(-alpha.clamp(max=0) / math.sqrt(2))
    gamma = torch.where(alpha < 0, 1 / mills, density(alpha) / above)
    shifted = mean + std * gamma
    relu = above * shifted
    spread = above * variance * (1 - gamma * (gamma + alpha))
    return relu, relu * shifted * below + spread


def density(alpha: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Return the standard normal density."""
    return (-0.5 * alpha.square()).exp() / math.sqrt(2 * math.pi)


def cdf(alpha: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Return the standard normal distribution function; `ndtr` is inaccurate in the lower tail."""
    return 0.5 * torch.special.erfc(-alpha / math.sqrt(2))


def forward(
    means: Layers, variances: Layers, inputs: Float[Tensor, "points features"]
) -> tuple[Float[Tensor, "points outputs"], Float[Tensor, "points outputs"]]:
    """Return mean and variance of every output."""
    last = _layers(means, variances, inputs)[-1]
    return last.sum_mean, last.sum_variance


class _Layer(NamedTuple):
    """Moments of a layer's inputs with the bias unit, and of its sums."""

    z: Tensor
    z_variance: Tensor
    sum_mean: Tensor
    sum_variance: Tensor


def _layers(means: Layers, variances: Layers, inputs: Tensor) -> list[_Layer]:
    layers: list[_Layer] = []
    z, z_variance = inputs, torch.zeros_like(inputs)
    for m, v in zip(means, variances, strict=True):
        z, z_variance = _with_bias(z, 1), _with_bias(z_variance, 0)
        layers.append(_Layer(z, z_variance, *_sums(m, v, z, z_variance)))
        if len(layers) < len(means):
            z, z_variance = relu_moments(*layers[-1][2:])
    return layers


def _with_bias(values: Tensor, bias: float) -> Tensor:
    return torch.nn.functional.pad(values, (0, 1), value=bias)


def _sums(m: Tensor, v: Tensor, z: Tensor, z_variance: Tensor) -> tuple[Tensor, Tensor]:
    k = m.shape[1]
    variance = (z_variance @ m.square().T + (z.square() + z_variance) @ v.T) / k
    return z @ m.T / math.sqrt(k), variance


def gradients(
    means: Layers,
    variances: Layers,
    inputs: Float[Tensor, " features"],
    head: Callable[[Tensor, Tensor], Head],
) -> tuple[float, list[tuple[Float[Tensor, "_units _inputs"], Float[Tensor, "_units _inputs"]]]]:
    """Return -log Z, and the derivatives of log Z by means and variances of each layer's weights.

    `head` returns -log Z and the derivatives of log Z by means and variances of the outputs.
    """
    layers = [
        _Layer(*(values[0] for values in layer))
        for layer in _layers(means, variances, inputs[None])
    ]
    loss, of_mean, of_variance = head(*layers[-1][2:])
    gradients: list[tuple[Tensor, Tensor]] = []
    for place in reversed(range(len(means))):
        m, v, (z, z_variance, *_) = means[place], variances[place], layers[place]
        k = m.shape[1]
        first, second = of_mean[:, None], of_variance[:, None]
        by_mean = first * z / math.sqrt(k) + 2 * second * m * z_variance / k
        gradients.insert(0, (by_mean, second * (z.square() + z_variance) / k))
        if place:
            of_z = of_mean @ m / math.sqrt(k) + 2 * z * (of_variance @ v) / k
            of_z_variance = of_variance @ (m.square() + v) / k
            of_mean, of_variance = through_relu(
                *layers[place - 1][2:], z[:-1], of_z[:-1], of_z_variance[:-1]
            )
    return loss, gradients


def through_relu(
    mean: Float[Tensor, " units"],
    variance: Float[Tensor, " units"],
    relu: Float[Tensor, " units"],
    of_relu: Float[Tensor, " units"],
    of_relu_variance: Float[Tensor, " units"],
) -> tuple[Float[Tensor, " units"], Float[Tensor, " units"]]:
    """Return derivatives by the moments of units' sums, given derivatives by the units' moments.

    `relu` has the units' means.
    """
    std = variance.sqrt()
    alpha = mean / std
    p, f = cdf(alpha), density(alpha)
    of_mean = of_relu * p + of_relu_variance * 2 * relu * cdf(-alpha)
    of_variance = of_relu * f / (2 * std) + of_relu_variance * (p - relu * f / std)
    return of_mean, of_variance

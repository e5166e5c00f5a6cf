"""The definition of every kernel, in plain torch and in the type of the messages.

Axes: weights `members outputs inputs`, rows `members rows ...`. (g, h) of a unit are the two
numbers of its backward message (tau, rho) at forward moments (M, V): g = rho/(1 + rho V) and
h = (tau - rho M)/(1 + rho V). Sums run in a fixed order, so that a member does not depend on the
others, and no tensor has the size rows x inputs x outputs. Source: paper 000, table 2.
"""

from collections.abc import Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor

from bnnbench.methods.message_passing.factors import argmax, leaky_relu, max_pool
from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.kernels import units, weights

CHUNK = 2**18
"""Maximum size of a member's temporary, unless one slice of its result has more elements.

The limit is per member, so that the order of sums does not depend on the number of members.
"""

fill_moments = units.fill_moments
output_messages = units.output_messages
fill_pulls = units.fill_pulls
fill_pulls_without_own = units.fill_pulls_without_own
input_messages = units.input_messages
bias_messages = units.bias_messages
begin = units.begin
fill_residual = units.fill_residual
fill_image = units.fill_image
step = units.step
turn = units.turn
finish = units.finish
fill_weight_moments = weights.fill_weight_moments
exchange = weights.exchange
dense_sums = weights.dense_sums
dense_messages = weights.dense_messages
FEW_ROWS = weights.FEW_ROWS
FUSED = False

Rows = Float[Tensor, "members rows inputs"]
Weights = Float[Tensor, "members outputs inputs"]
Units = Float[Tensor, "members rows outputs"]


def leaky_relu_forward(
    z: Gaussian, a: Gaussian | None, slope: float
) -> tuple[Gaussian, Int[Tensor, " members"]]:
    """Return `leaky_relu.forward` (`direct` without a), and each member's replacement count."""
    if a is None:
        none = torch.zeros(z.shape[0], dtype=torch.int64, device=z.rho.device)
        return leaky_relu.direct(z, slope), none
    message, replaced = leaky_relu.forward(z, a, slope)
    return message, replaced.flatten(1).sum(1)


def leaky_relu_backward(
    z: Gaussian, a: Gaussian, slope: float
) -> tuple[Gaussian, Int[Tensor, " members"]]:
    """Return `leaky_relu.backward`, and each member's count of replacements by a guard."""
    message, replaced = leaky_relu.backward(z, a, slope)
    return message, replaced.flatten(1).sum(1)


def max_pool_forward(z: Gaussian, size: int) -> Gaussian:
    """Return `max_pool.forward`."""
    return max_pool.forward(z, size)


def max_pool_backward(z: Gaussian, back: Gaussian, size: int) -> Gaussian:
    """Return `max_pool.backward`."""
    return max_pool.backward(z, back, size)


def argmax_backward(
    z: Gaussian,
    labels: Int[Tensor, "members rows"],
    noise_variance: float,
    target_variance: float | None,
) -> Gaussian:
    """Return `argmax.backward`."""
    return argmax.backward(z, labels, noise_variance, target_variance)


def exact_weight_sums(
    input_mean: Rows,
    input_variance: Rows | None,
    weight_mean: Weights,
    weight_variance: Weights,
    g: Units,
    h: Units,
) -> Gaussian:
    r"""Return the product of all rows' messages to each weight.

    Inputs without a variance are observed; the weights' moments are then their cavities'.

    With p and v the moments of the product of input and weight, and q = 1 - g v,
    $\rho = \sum_n \mathrm E[a^2] g/q$ and $\tau = \sum_n \mathrm E[a] (h + g p)/q$.
    """
    weight_second = weight_variance + weight_mean.square()
    total = _Total(weight_mean)
    for rows in _chunks(g.shape[1], weight_mean):
        mean = input_mean[:, rows, None, :]
        square = mean.square()
        variance = 0.0 if input_variance is None else input_variance[:, rows, None, :]
        gain, force = g[:, rows, :, None], h[:, rows, :, None]
        v = variance * weight_second[:, None] + square * weight_variance[:, None]
        share = _remaining(gain * v)
        total.add(
            mean * (force + gain * (mean * weight_mean[:, None])) / share,
            (square + variance) * gain / share,
        )
    return total.message()


def exact_input_sums(
    input_mean: Rows,
    input_variance: Rows,
    weight_mean: Weights,
    weight_variance: Weights,
    g: Units,
    h: Units,
) -> Gaussian:
    r"""Return the product of all outputs' messages to each input of a later layer.

    Like `exact_weight_sums`, with $\rho = \sum_o \mathrm E[w^2] g/q$ and
    $\tau = \sum_o \mathrm E[w] (h + g p)/q$. No floor is applied.
    """
    square = input_mean.square()
    total = _Total(input_mean)
    for outputs in _chunks(g.shape[2], input_mean):
        mean = weight_mean[:, outputs, None, :]
        variance = weight_variance[:, outputs, None, :]
        second = variance + mean.square()
        gain = g[:, :, outputs].mT[..., None]
        force = h[:, :, outputs].mT[..., None]
        v = input_variance[:, None] * second + square[:, None] * variance
        share = _remaining(gain * v)
        total.add(
            mean * (force + gain * (input_mean[:, None] * mean)) / share, second * gain / share
        )
    return total.message()


def exact_first_forward(
    x: Rows, weight_mean: Weights, weight_variance: Weights, g: Units, h: Units
) -> tuple[Units, Units]:
    r"""Return the weights' part of a first layer's mean and variance, under cavities.

    For a weight of variance s and mean m, a row's cavity is rebuilt from the (g, h) of the row's
    message in the marginal: $s_c = 2s/(1 + \sqrt{1 - 4 g x^2 s})$, $m_c = m - s_c x h$. It equals
    the marginal if g = h = 0, and is exact if the message explained at most half of the output's
    variance, $g x^2 s_c \le 1/2$. Beyond that, another cavity has the same marginal; layers with
    very few inputs should store their messages instead.
    """
    total = _Total(g)
    for inputs in _chunks(x.shape[2], g):
        column = x[:, :, inputs].mT[..., None]
        mean = weight_mean[:, :, inputs].mT[:, :, None, :]
        variance = weight_variance[:, :, inputs].mT[:, :, None, :]
        cavity_mean, cavity_variance = _cavity(column, mean, variance, g[:, None], h[:, None])
        total.add(column * cavity_mean, column.square() * cavity_variance)
    sums = total.message()
    return sums.tau, sums.rho


def exact_first_weight_sums(
    x: Rows,
    weight_mean: Weights,
    weight_variance: Weights,
    g_old: Units,
    h_old: Units,
    g: Units,
    h: Units,
) -> Gaussian:
    r"""Return the product of all rows' messages to each weight of a first layer.

    With the cavities $m_c, s_c$ rebuilt from the old (g, h) and q = 1 - g x² s_c,
    $\rho = \sum_n x^2 g/q$ and $\tau = \sum_n x (h + g x m_c)/q$.
    """
    total = _Total(weight_mean)
    for rows in _chunks(g.shape[1], weight_mean):
        value = x[:, rows, None, :]
        gain, force = g[:, rows, :, None], h[:, rows, :, None]
        cavity_mean, cavity_variance = _cavity(
            value,
            weight_mean[:, None],
            weight_variance[:, None],
            g_old[:, rows, :, None],
            h_old[:, rows, :, None],
        )
        share = _remaining(gain * (value.square() * cavity_variance))
        total.add(
            value * (force + gain * (value * cavity_mean)) / share,
            value.square() * gain / share,
        )
    return total.message()


class _Total:
    """Sums over the second dimension of chunks, in float64.

    Halves are added repeatedly, because adding slices one by one is slow and the order of
    `Tensor.sum` depends on the shape of the whole tensor, including other members.
    """

    def __init__(self, pattern: Tensor) -> None:
        self.dtype = pattern.dtype
        self.tau = torch.zeros_like(pattern, dtype=torch.float64)
        self.rho = torch.zeros_like(pattern, dtype=torch.float64)

    def add(self, tau: Tensor, rho: Tensor) -> None:
        for total, terms in ((self.tau, tau), (self.rho, rho)):
            terms = terms.double()
            while (count := terms.shape[1]) > 1:
                half = count - count // 2
                terms[:, : count // 2] += terms[:, half:]
                terms = terms[:, :half]
            total += terms[:, 0]

    def message(self) -> Gaussian:
        return Gaussian(self.tau.to(self.dtype), self.rho.to(self.dtype))


def _chunks(length: int, part: Tensor) -> Iterator[slice]:
    """Yield slices of an axis that, with one member of `part`, have at most CHUNK elements."""
    step = max(1, CHUNK // max(1, part[0].numel()))
    for start in range(0, length, step):
        yield slice(start, start + step)


def _remaining(explained: Tensor) -> Tensor:
    """Return 1 - g v, which is positive except for rounding."""
    return (1 - explained).clamp_min(torch.finfo(explained.dtype).eps)


def _cavity(
    x: Tensor, mean: Tensor, variance: Tensor, g: Tensor, h: Tensor
) -> tuple[Tensor, Tensor]:
    """Return mean and variance of a weight without one row's message."""
    root = (1 - 4 * g * (x.square() * variance)).clamp_min(0.0).sqrt()
    cavity_variance = 2 * variance / (1 + root)
    return mean - cavity_variance * (x * h), cavity_variance

r"""Sums of a layer's messages over examples or outputs, without a tensor of all messages.

A unit with forward mean M and variance V that gets the message (tau, rho) pulls with the force
$h = (\tau - \rho M) / (1 + \rho V)$ and the gain $g = \rho / (1 + \rho V)$. The message to its
term of mean p and variance v is $\rho_c = g / (1 - g v)$, $\tau_c = (h + g p) / (1 - g v)$. Only
the denominator does not separate: exactly, in compiled loops; to the first order, or to the
zeroth, which is off by g v, of the size of one over the fan-in, in a few products.
"""

from dataclasses import dataclass
from types import ModuleType
from typing import Literal

import torch
from torch import Tensor

from methods.message_passing.gaussian import Gaussian
from methods.message_passing.maps import Inputs, LinearMap, Values, Weights

Order = Literal["exact", "first", "zeroth"]
FEATURES = 2
"""The axis of features or channels, of inputs and of weights."""


@dataclass(frozen=True)
class Moments:
    """Means and variances of a layer's inputs and weights in one forward pass."""

    input_mean: Inputs
    input_variance: Inputs
    weight_mean: Weights
    weight_variance: Weights


def messages(
    order: Order, map: LinearMap, m: Moments, g: Values, h: Values, kernels: ModuleType
) -> tuple[Gaussian, Gaussian]:
    """Return the sum over examples of messages to weights, and over outputs to inputs.

    The messages of products, with the moments of the other factor's marginal.
    """
    if order == "exact":
        return _exact(map, m, g, h, kernels)
    weights, inputs = _zeroth(map, m, g, h)
    if order == "zeroth":
        return weights, inputs
    more_weights, more_inputs = _first(map, m, g, h)
    return weights * more_weights, inputs * more_inputs


def _exact(
    map: LinearMap, m: Moments, g: Values, h: Values, kernels: ModuleType
) -> tuple[Gaussian, Gaussian]:
    rows = (
        map.rows(m.input_mean),
        map.rows(m.input_variance),
        m.weight_mean.flatten(2),
        m.weight_variance.flatten(2),
        map.output_rows(g),
        map.output_rows(h),
    )
    weights = kernels.exact_weight_sums(*rows)
    inputs = kernels.exact_input_sums(*rows)
    return (
        Gaussian(*(part.view_as(m.weight_mean) for part in (weights.tau, weights.rho))),
        Gaussian(*(map.unrows(part, m.input_mean) for part in (inputs.tau, inputs.rho))),
    )


def _zeroth(map: LinearMap, m: Moments, g: Values, h: Values) -> tuple[Gaussian, Gaussian]:
    input_square, weight_square = m.input_mean.square(), m.weight_mean.square()
    rho, mean_part = _halves(
        map.to_weights(g, _both(input_square + m.input_variance, input_square))
    )
    weights = Gaussian(map.to_weights(h, m.input_mean) + m.weight_mean * mean_part, rho)
    rho, mean_part = _halves(
        map.to_inputs(g, _both(weight_square + m.weight_variance, weight_square))
    )
    inputs = Gaussian(map.to_inputs(h, m.weight_mean) + m.input_mean * mean_part, rho)
    return weights, inputs


def _first(map: LinearMap, m: Moments, g: Values, h: Values) -> tuple[Gaussian, Gaussian]:
    """Return what 1/(1 - g v) = 1 + g v adds, v = s_a E[w²] + E[a]² s_w."""
    a, s_a, w, s_w = m.input_mean, m.input_variance, m.weight_mean, m.weight_variance
    a_square, w_square = a.square(), w.square()
    m2_a, m2_w = a_square + s_a, w_square + s_w
    gg, gh = g.square(), g * h
    of_w, of_a = map.to_weights, map.to_inputs
    weights = Gaussian(
        m2_w * of_w(gh, a * s_a)
        + s_w * of_w(gh, a * a_square)
        + w * (m2_w * of_w(gg, a_square * s_a) + s_w * of_w(gg, a_square.square())),
        m2_w * of_w(gg, m2_a * s_a) + s_w * of_w(gg, m2_a * a_square),
    )
    inputs = Gaussian(
        s_a * of_a(gh, w * m2_w)
        + a_square * of_a(gh, w * s_w)
        + a * (s_a * of_a(gg, w_square * m2_w) + a_square * of_a(gg, w_square * s_w)),
        s_a * of_a(gg, m2_w.square()) + a_square * of_a(gg, m2_w * s_w),
    )
    return weights, inputs


def first_layer_forward(
    map: LinearMap, x: Inputs, mean: Weights, variance: Weights, g: Values, h: Values
) -> tuple[Tensor, Tensor]:
    """Return mean and variance of Σ x w under cavities per row, to first order in g x² s.

    g and h are those of the message of each row that the marginal contains.
    """
    square = x.square()
    own = map.forward(square, variance) + g * map.forward(square.square(), variance.square())
    return map.forward(x, mean) - h * own, own


def first_layer_messages(
    map: LinearMap,
    x: Inputs,
    mean: Weights,
    variance: Weights,
    old_h: Values,
    g: Values,
    h: Values,
) -> Gaussian:
    """Return the sum over rows of the messages to weights of a layer with observed inputs.

    To first order in g x² s, with the cavities of `first_layer_forward`.
    """
    square = x.square()
    rho = map.to_weights(g, square) + variance * map.to_weights(g.square(), square.square())
    change = map.to_weights(g * (h - old_h), square * x)
    return Gaussian(map.to_weights(h, x) + mean * rho + variance * change, rho)


def _both(a: Tensor, b: Tensor) -> Tensor:
    """Return both side by side as features of one tensor: one product makes the sums of both."""
    return torch.cat([a, b], FEATURES)


def _halves(both: Tensor) -> tuple[Tensor, Tensor]:
    first, second = both.chunk(2, FEATURES)
    return first, second

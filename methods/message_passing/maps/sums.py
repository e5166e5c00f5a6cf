r"""Sums of a layer's messages over examples or outputs, without a tensor of all messages.

A unit with forward mean M and variance V that gets the message (tau, rho) pulls with the force
$h = (\tau - \rho M) / (1 + \rho V)$ and the gain $g = \rho / (1 + \rho V)$. The message to its
term of mean p and variance v is $\rho_c = g / (1 - g v)$, $\tau_c = (h + g p) / (1 - g v)$. Only
the denominator does not separate: exactly, in compiled loops; to the first order, or to the
zeroth, which is off by g v, of the size of one over the fan-in, in a few products.
"""

from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.maps.base import Inputs, LinearMap, Values, Weights

Order = Literal["exact", "first", "zeroth"]
Powers = Float[Tensor, "pairs examples *inputs"]
"""Observed inputs x and x², side by side as in maps.py."""
Pulls = Float[Tensor, "pairs examples *outputs"]
"""Forces and gains, side by side."""


@dataclass(frozen=True)
class Moments:
    """Moments of a layer's inputs and weights in one forward pass, side by side as in maps.py.

    One product of both makes the mean of Σ w a, and its variance due to weights and to inputs.
    """

    inputs: Inputs
    """Mean, its square, and variance."""
    weights: Weights
    """Mean, variance, and second moment."""

    @cached_property
    def of_inputs(self) -> tuple[Inputs, ...]:
        """Mean, its square, and variance, one by one."""
        return self.inputs.chunk(3)

    @cached_property
    def of_weights(self) -> tuple[Weights, ...]:
        """Mean, variance, and second moment, one by one."""
        return self.weights.chunk(3)


def messages(
    order: Order, map: LinearMap, m: Moments, pulls: Values, kernels: ModuleType
) -> tuple[Gaussian, Gaussian]:
    """Return the sum over examples of messages to weights, and over outputs to inputs, floored.

    The messages of products, with the moments of the other factor's marginal. `pulls` are forces
    h, gains g, and once more g.
    """
    if order == "exact":
        weights, inputs = _exact(map, m, pulls, kernels)
        return weights, inputs.floored()
    force, of_square, of_variance = map.to_weights(pulls, m.inputs).chunk(3)
    weights = Gaussian(force.addcmul(m.of_weights[0], of_square), of_square + of_variance)
    sums = map.to_inputs(pulls, m.weights)
    if order == "first":
        more_weights, more_inputs = _first(map, m, pulls)
        weights = weights * more_weights
        force, of_variance, rho = sums.chunk(3)
        force += more_inputs.tau
        of_variance += more_inputs.rho  # the rest of rho has its force by the mean
        rho += more_inputs.rho
    return weights, kernels.input_messages(m.of_inputs[0], sums)


def _exact(
    map: LinearMap, m: Moments, pulls: Values, kernels: ModuleType
) -> tuple[Gaussian, Gaussian]:
    h, g, _ = pulls.chunk(3)
    a, _, s_a = m.of_inputs
    w, s_w, _ = m.of_weights
    rows = (
        map.rows(a),
        map.rows(s_a),
        map.weight_rows(w),
        map.weight_rows(s_w),
        map.output_rows(g),
        map.output_rows(h),
    )
    weights = kernels.exact_weight_sums(*rows)
    inputs = kernels.exact_input_sums(*rows)
    return (
        Gaussian(*(map.from_rows(part) for part in (weights.tau, weights.rho))),
        Gaussian(*(map.unrows(part, a) for part in (inputs.tau, inputs.rho))),
    )


def _first(map: LinearMap, m: Moments, pulls: Values) -> tuple[Gaussian, Gaussian]:
    """Return what 1/(1 - g v) = 1 + g v adds, v = s_a E[w²] + E[a]² s_w."""
    h, g, _ = pulls.chunk(3)
    a, a_square, s_a = m.of_inputs
    w, s_w, m2_w = m.of_weights
    w_square, m2_a = w.square(), a_square + s_a
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


def first_layer_cavities(
    map: LinearMap,
    powers: Powers,
    variance: Weights,
    mean: Values,
    own: Values,
    g: Values,
    h: Values,
) -> tuple[Tensor, Tensor]:
    """Return mean and variance of Σ x w under cavities per row, to first order in g x² s.

    `mean` and `own` are the moments of Σ x w under the marginal, which contains each row's message
    of force h and gain g.
    """
    square = powers.chunk(2)[1]
    own = own + g * map.forward(square.square(), variance.square())
    return mean - h * own, own


def first_layer_messages(
    map: LinearMap,
    powers: Powers,
    mean: Weights,
    variance: Weights,
    old_h: Values | None,
    pulls: Pulls,
) -> Gaussian:
    """Return the sum over rows of the messages to weights of a layer with observed inputs.

    To first order in g x² s, with the cavities of `first_layer_cavities`.
    """
    (x, square), (h, g) = powers.chunk(2), pulls.chunk(2)
    force, gain = map.to_weights(pulls, powers).chunk(2)
    higher, more = map.values_room(x, 2), map.values_room(h, 2)
    for factor, power in zip((x, square), higher.chunk(2), strict=True):
        torch.mul(square, factor, out=power)
    for factor, pull in zip((h if old_h is None else h - old_h, g), more.chunk(2), strict=True):
        torch.mul(g, factor, out=pull)
    change, square_gain = map.to_weights(more, higher).chunk(2)
    rho = gain + variance * square_gain
    return Gaussian(force + mean * rho + variance * change, rho)

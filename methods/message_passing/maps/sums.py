r"""Sums of a layer's messages over examples or outputs, without a tensor of all messages.

A unit with forward mean M and variance V that gets the message (tau, rho) pulls with the force
$h = (\tau - \rho M) / (1 + \rho V)$ and the gain $g = \rho / (1 + \rho V)$. The message to its
term of mean p and variance v is $\rho_c = g / (1 - g v)$, $\tau_c = (h + g p) / (1 - g v)$. Only
the denominator does not factorise. It is computed exactly, in compiled loops, or in a few products
to first or zeroth order. The zeroth order has an error of g v, about one over the fan-in.
"""

from types import ModuleType
from typing import Literal

import torch

from bnnbench.methods.message_passing.gaussian import Gaussian, Moments
from bnnbench.methods.message_passing.maps.base import LinearMap, Values, Weights
from bnnbench.methods.message_passing.stacks import (
    CorrectionSums,
    FirstPulls,
    FirstSums,
    FirstWeightSums,
    GainProducts,
    HigherPowers,
    InputMoments,
    InputSums,
    LaterPulls,
    LaterWeightSums,
    Powers,
    WeightMoments,
)

Order = Literal["exact", "first", "zeroth"]


def messages(
    order: Order,
    map: LinearMap,
    inputs: InputMoments,
    weights: WeightMoments,
    pulls: LaterPulls,
    kernels: ModuleType,
) -> tuple[Gaussian, Gaussian]:
    """Return the sums of messages to weights over examples, and to inputs over outputs, floored.

    These are messages of products, with the moments of the other factor's marginal.
    """
    if order == "exact":
        to_weights, to_inputs = _exact(map, inputs, weights, pulls, kernels)
        return to_weights, to_inputs.floored()
    sums = later_weight_sums(map, inputs, pulls)
    to_weights = Gaussian(
        sums.force.addcmul(weights.mean, sums.gain_of_square),
        sums.gain_of_square + sums.gain_of_variance,
    )
    sums_of_inputs = input_sums(map, weights, pulls)
    if order == "first":
        more_to_weights, more_to_inputs = _first(map, inputs, weights, pulls)
        to_weights = to_weights * more_to_weights
        sums_of_inputs.force.add_(more_to_inputs.tau)
        # The other part of the precision contributes its force via the mean.
        sums_of_inputs.gain_of_variance.add_(more_to_inputs.rho)
        sums_of_inputs.precision.add_(more_to_inputs.rho)
    return to_weights, kernels.input_messages(inputs.mean, sums_of_inputs)


def later_weight_sums(map: LinearMap, inputs: InputMoments, pulls: LaterPulls) -> LaterWeightSums:
    """Return the sums over examples that form the messages to weights."""
    apart = map.separates_parts(pulls.force)
    return LaterWeightSums.by(map.to_weights, apart, pulls, inputs)


def input_sums(map: LinearMap, weights: WeightMoments, pulls: LaterPulls) -> InputSums:
    """Return the sums over outputs that form the messages to inputs."""
    return InputSums.by(map.to_inputs, map.separates_parts(pulls.force), pulls, weights)


def _exact(
    map: LinearMap,
    inputs: InputMoments,
    weights: WeightMoments,
    pulls: LaterPulls,
    kernels: ModuleType,
) -> tuple[Gaussian, Gaussian]:
    rows = (
        map.rows(inputs.mean),
        map.rows(inputs.variance),
        map.weight_rows(weights.mean),
        map.weight_rows(weights.variance),
        map.output_rows(pulls.gain),
        map.output_rows(pulls.force),
    )
    to_weights = kernels.exact_weight_sums(*rows)
    to_inputs = kernels.exact_input_sums(*rows)
    return (
        Gaussian(*(map.from_rows(part) for part in (to_weights.tau, to_weights.rho))),
        Gaussian(*(map.sum_rows(part, inputs.mean) for part in (to_inputs.tau, to_inputs.rho))),
    )


def _first(
    map: LinearMap, inputs: InputMoments, weights: WeightMoments, pulls: LaterPulls
) -> tuple[Gaussian, Gaussian]:
    """Return the terms added by 1/(1 - g v) = 1 + g v, where v = s_a E[w²] + E[a]² s_w."""
    h, g = pulls.force, pulls.gain
    a, a_square, s_a = inputs.mean, inputs.square, inputs.variance
    w, s_w, m2_w = weights.mean, weights.variance, weights.second
    w_square, m2_a = w.square(), a_square + s_a
    gg, gh = g.square(), g * h
    of_w, of_a = map.to_weights, map.to_inputs
    to_weights = Gaussian(
        m2_w * of_w(gh, a * s_a)
        + s_w * of_w(gh, a * a_square)
        + w * (m2_w * of_w(gg, a_square * s_a) + s_w * of_w(gg, a_square.square())),
        m2_w * of_w(gg, m2_a * s_a) + s_w * of_w(gg, m2_a * a_square),
    )
    to_inputs = Gaussian(
        s_a * of_a(gh, w * m2_w)
        + a_square * of_a(gh, w * s_w)
        + a * (s_a * of_a(gg, w_square * m2_w) + a_square * of_a(gg, w_square * s_w)),
        s_a * of_a(gg, m2_w.square()) + a_square * of_a(gg, m2_w * s_w),
    )
    return to_weights, to_inputs


def first_layer_cavities(
    map: LinearMap, powers: Powers, variance: Weights, sums: FirstSums, g: Values, h: Values
) -> Moments:
    """Return mean and variance of Σ x w under cavities per row, to first order in g x² s.

    `variance` and `sums` come from the marginals of the weights, which contain each row's message
    with force h and gain g.
    """
    spread = sums.variance + g * map.forward(powers.square.square(), variance.square())
    return Moments(sums.mean - h * spread, spread)


def first_layer_messages(
    map: LinearMap,
    powers: Powers,
    mean: Weights,
    variance: Weights,
    old_h: Values | None,
    pulls: FirstPulls,
) -> Gaussian:
    """Return the sum over rows of the messages to the weights of a layer with observed inputs.

    It is accurate to first order in g x² s, with the cavities of `first_layer_cavities`.
    """
    h, g = pulls.force, pulls.gain
    apart = map.separates_parts(h)
    sums = FirstWeightSums.by(map.to_weights, apart, pulls, powers)
    higher = HigherPowers.of(map.values_room(powers.value, 2))
    products = GainProducts.of(map.values_room(h, 2))
    torch.mul(powers.square, powers.value, out=higher.cube)
    torch.mul(powers.square, powers.square, out=higher.fourth)
    torch.mul(g, h if old_h is None else h - old_h, out=products.change)
    torch.mul(g, g, out=products.square)
    corrections = CorrectionSums.by(map.to_weights, apart, products, higher)
    rho = sums.gain + variance * corrections.square
    return Gaussian(sums.force + mean * rho + variance * corrections.change, rho)

"""The fused operations, which save a GPU launches, in plain torch; all others in C.

Coupled updates read the previous step's sums, the operations that use biases compute their
cavities, and counts are accumulated in place. Results equal the other backends' to rounding: sums
over examples run in another order. Axes and terms are defined in units.py; `bias` are marginals
`members outputs` or, in a coupled update, their precisions.
"""

from typing import Any

import torch
from torch import Tensor

from bnnbench.methods.message_passing.factors import argmax
from bnnbench.methods.message_passing.gaussian import LEAST_PRECISION, Gaussian
from bnnbench.methods.message_passing.kernels import compiled, units, weights
from bnnbench.methods.message_passing.stacks import LaterWeightSums

FUSED = True
FEW_ROWS = 0


def __getattr__(name: str) -> Any:
    return getattr(compiled.COMPILED, name)


def coupled_begin(
    g: Tensor,
    h: Tensor,
    old: Tensor | None,
    by_weights: Tensor,
    by_inputs: Tensor | None,
    bias: Tensor | None,
    diagonal: Tensor,
    scale: Tensor,
    scaled: Tensor,
    u: Tensor,
) -> Tensor:
    """Fill the starting values of conjugate gradients, `u` with 0 (units.begin)."""
    u.zero_()
    variance = g.new_zeros(g.shape[0], 1, g.shape[2]) if bias is None else bias.reciprocal()
    return units.begin(g, h, old, by_weights, by_inputs, variance, diagonal, scale, scaled)


def coupled_residual(
    moved: Tensor,
    total: Tensor,
    bias: Tensor | None,
    diagonal: Tensor,
    scale: Tensor,
    scaled: Tensor,
    residual: Tensor,
    direction: Tensor,
) -> tuple[Tensor, Tensor]:
    """Fill the residual and the first direction (units.fill_residual)."""
    shift = _shift(total, bias)
    return units.fill_residual(moved, shift, diagonal, scale, scaled, residual, direction)


def coupled_image(
    direction: Tensor,
    moved: Tensor,
    total: Tensor,
    bias: Tensor | None,
    diagonal: Tensor,
    scale: Tensor,
    image: Tensor,
) -> Tensor:
    """Fill the direction's image (units.fill_image)."""
    return units.fill_image(direction, moved, _shift(total, bias), diagonal, scale, image)


def coupled_step(
    direction: Tensor,
    image: Tensor,
    square: Tensor,
    curvature: Tensor,
    u: Tensor,
    residual: Tensor,
) -> Tensor:
    """Step along the direction to where the residual is smallest (units.step)."""
    return units.step(_quotient(square, curvature), direction, image, u, residual)


def coupled_turn(
    residual: Tensor,
    square: Tensor,
    before: Tensor,
    scale: Tensor,
    direction: Tensor,
    scaled: Tensor,
) -> Tensor:
    """Turn the direction, given the sums of residual² now and before the step (units.turn)."""
    return units.turn(residual, _quotient(square, before), scale, direction, scaled)


def coupled_finish(
    g: Tensor, u: Tensor, old: Tensor | None, h: Tensor, stored: Tensor | None, damping: float
) -> None:
    """Add √g u to `h`; fill `stored`, if given, `damping` of the way from `old` to `h`."""
    units.finish(g, u, h)
    if stored is not None:
        stored.copy_(h if old is None else torch.lerp(old, h, damping))


def biased_outputs(
    mean: Tensor,
    by_weights: Tensor,
    by_inputs: Tensor | None,
    bias: Gaussian | None,
    old: Gaussian | None,
) -> Gaussian:
    """Return the messages with biases' moments added, without an example's own message."""
    bias_mean, variance = _cavity(bias, old, mean)
    return units.output_messages(mean, by_weights, by_inputs, bias_mean, variance)


def exchange_bias(
    g: Tensor,
    h: Tensor,
    bias: Gaussian,
    old: Gaussian | None,
    old_sum: Gaussian | None,
    total: Gaussian | None,
    damping: float,
) -> tuple[Gaussian, Gaussian, Gaussian]:
    """Return the examples' messages to biases, their product, and the updated marginals.

    Messages move `damping` of the way from the old ones, whose product is `old_sum`. `total`, if
    given, is multiplied by the new product.
    """
    messages = units.bias_messages(g, h, *_cavity(bias, old, g))
    if old:
        messages = old.moved(messages, damping)
    product = Gaussian(messages.tau.sum(1), messages.rho.sum(1))
    if total:
        total.tau.add_(product.tau)
        total.rho.add_(product.rho)
    return messages, product, bias * (product / old_sum if old_sum else product)


def exchange_sums(
    marginal: Gaussian,
    total: Gaussian | None,
    mean: Tensor,
    sums: LaterWeightSums,
    old: Gaussian | None,
    stored: Gaussian | None,
    damping: float,
) -> None:
    """Exchange the message, formed by sums over examples, to weights with these means."""
    new = Gaussian(
        sums.force + mean * sums.gain_of_square, sums.gain_of_square + sums.gain_of_variance
    )
    weights.exchange(marginal, total, new, old, stored, damping)


def counted_forward(z: Gaussian, a: Gaussian | None, slope: float, counts: Tensor) -> Gaussian:
    """Return the messages to a = LeakyReLU(z), and add replacements to the members' counts."""
    out, replaced = compiled.leaky_relu_forward(z, a, slope)
    counts.add_(replaced)
    return out


def counted_backward(z: Gaussian, a: Gaussian, slope: float, counts: Tensor) -> Gaussian:
    """Return the messages to z, and add replacements by a guard to the members' counts."""
    out, replaced = compiled.leaky_relu_backward(z, a, slope)
    counts.add_(replaced)
    return out


def argmax_loss(z: Gaussian, labels: Tensor, noise_variance: float) -> Tensor:
    """Return the negative log probability of each label, `members examples`."""
    log_probs = argmax.log_probabilities(z.mean, z.variance, noise_variance)
    return -log_probs.gather(-1, labels.unsqueeze(-1)).squeeze(-1)


def _shift(total: Tensor, bias: Tensor | None) -> Tensor:
    """Return how far the biases move pre-activations; `total` has sums per example."""
    whole = total.sum(1, keepdim=True)
    return torch.zeros_like(whole) if bias is None else whole / bias


def _quotient(above: Tensor, below: Tensor) -> Tensor:
    """Return the quotient of the sums over examples, or 0 where `below` is not positive."""
    above, below = above.sum(1, keepdim=True), below.sum(1, keepdim=True)
    return torch.where(below > 0, above / below, 0.0)


def _cavity(bias: Gaussian | None, old: Gaussian | None, values: Tensor) -> tuple[Tensor, Tensor]:
    """Return the moments of biases without each example's own message; 0 if there are none."""
    if bias is None:
        none = values.new_zeros(values.shape[0], 1, values.shape[2])
        return none, none
    whole = Gaussian(bias.tau[:, None], bias.rho[:, None])
    if old is None:
        return whole.mean, whole.variance
    rest = whole / old
    rho = rest.rho.clamp_min(LEAST_PRECISION)
    return rest.tau / rho, rho.reciprocal()

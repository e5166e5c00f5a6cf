"""The operations on single units of a layer (inputs, outputs and biases), in plain torch.

Axes: `members examples features *positions`. Biases have no positions, and one example if all
examples share their moments. Tensors that one product processes together are a stack (stacks.py).
"""

import torch
from torch import Tensor

from bnnbench.methods.message_passing.gaussian import LEAST_PRECISION, Gaussian
from bnnbench.methods.message_passing.stacks import InputSums

NO_VARIANCE = 1e-20
"""The minimum variance of a message to a pre-activation."""


def fill_moments(
    message: Gaussian, sent: Gaussian | None, mean: Tensor, square: Tensor, variance: Tensor
) -> None:
    """Fill mean, squared mean, and variance of the product of messages.

    The precision of the product is floored and its mean retained; a uniform product has mean 0.
    """
    whole = message * sent if sent else message
    mean.copy_(whole.tau / torch.where(whole.rho > 0, whole.rho, LEAST_PRECISION))
    torch.square(mean, out=square)
    torch.reciprocal(whole.rho.clamp_min(LEAST_PRECISION), out=variance)


def output_messages(
    mean: Tensor,
    by_weights: Tensor,
    by_inputs: Tensor | None,
    bias_mean: Tensor,
    bias_variance: Tensor,
) -> Gaussian:
    """Return the messages with these means and variances and the biases' moments added.

    Variances are due to the layer's weights and to its inputs.
    """
    variance = (by_weights if by_inputs is None else by_weights + by_inputs) + spread(
        bias_variance, mean
    )
    return Gaussian.of(mean + spread(bias_mean, mean), variance.clamp_min(NO_VARIANCE))


def fill_pulls(z: Gaussian, back: Gaussian, h: Tensor, g: Tensor, again: Tensor | None) -> None:
    """Fill forces h and gains g of backward messages, `again` with a copy of g (maps/sums.py)."""
    whole = z.rho + back.rho
    share = z.rho / whole
    h.copy_(back.tau * share - back.rho / whole * z.tau)
    torch.mul(back.rho, share, out=g)
    if again is not None:
        again.copy_(g)


def fill_pulls_without_own(
    z: Gaussian,
    back: Gaussian,
    by_weights: Tensor,
    by_inputs: Tensor,
    old: Tensor,
    h: Tensor,
    g: Tensor,
    again: Tensor | None,
) -> None:
    """Fill forces and gains, with each example's last force, `old`, removed from its mean.

    Variances of the pre-activations are due to the layer's weights and to its inputs.
    """
    fill_pulls(z, back, h, g, again)
    h.add_(g * (by_weights + by_inputs) * old)


def input_messages(mean: Tensor, sums: InputSums) -> Gaussian:
    """Return the messages to inputs with these means, floored.

    rho = Σ g E[w²] and tau = Σ h w + mean Σ g w², where w² = E[w²] - s_w.
    """
    square_gain = sums.precision - sums.gain_of_variance
    return Gaussian(sums.force + mean * square_gain, sums.precision).floored()


def bias_messages(g: Tensor, h: Tensor, mean: Tensor, variance: Tensor) -> Gaussian:
    """Return the messages of examples to biases with these cavities."""
    share = 1 - g * spread(variance, g)
    return Gaussian(per_example((h + g * spread(mean, g)) / share), per_example(g / share))


def begin(
    g: Tensor,
    h: Tensor,
    old: Tensor | None,
    by_weights: Tensor,
    by_inputs: Tensor | None,
    bias_variance: Tensor,
    diagonal: Tensor,
    scale: Tensor,
    scaled: Tensor,
) -> Tensor:
    """Fill the starting values of conjugate gradients (coupling.py).

    diagonal = by_weights + bias variance, scale = e √g and scaled = e (h - old), where
    e² = 1 + by_inputs/diagonal. Returns the sum of `scaled` over each example's positions.
    """
    torch.add(by_weights, spread(bias_variance, by_weights), out=diagonal)
    e = torch.ones_like(by_weights) if by_inputs is None else torch.sqrt(1 + by_inputs / diagonal)
    torch.mul(g.sqrt(), e, out=scale)
    torch.mul(e, h if old is None else h - old, out=scaled)
    return per_example(scaled)


def fill_residual(
    moved: Tensor,
    shift: Tensor,
    diagonal: Tensor,
    scale: Tensor,
    scaled: Tensor,
    residual: Tensor,
    direction: Tensor,
) -> tuple[Tensor, Tensor]:
    """Fill `residual` and `direction` with -scale (moved + shift - diagonal scaled).

    Fills `scaled` with scale residual, and returns the sums of residual² and of `scaled` over each
    example's positions.
    """
    torch.mul(-scale, moved + spread(shift, moved) - diagonal * scaled, out=residual)
    direction.copy_(residual)
    torch.mul(scale, residual, out=scaled)
    return per_example(residual.square()), per_example(scaled)


def fill_image(
    direction: Tensor, moved: Tensor, shift: Tensor, diagonal: Tensor, scale: Tensor, image: Tensor
) -> Tensor:
    """Fill `image` with direction + scale (moved + shift - diagonal scale direction).

    Returns the sum of direction image over each example's positions.
    """
    others = moved + spread(shift, moved) - diagonal * (scale * direction)
    torch.add(direction, scale * others, out=image)
    return per_example(direction * image)


def step(length: Tensor, direction: Tensor, image: Tensor, u: Tensor, residual: Tensor) -> Tensor:
    """Add length direction to `u`, and subtract length image from `residual`.

    Returns the sum of residual² over each example's positions.
    """
    along = spread(length, u)
    u.add_(along * direction)
    residual.sub_(along * image)
    return per_example(residual.square())


def turn(
    residual: Tensor, ratio: Tensor, scale: Tensor, direction: Tensor, scaled: Tensor
) -> Tensor:
    """Set `direction` to residual + ratio direction, and `scaled` to scale direction.

    Returns the sum of `scaled` over each example's positions.
    """
    direction.mul_(spread(ratio, residual)).add_(residual)
    torch.mul(scale, direction, out=scaled)
    return per_example(scaled)


def finish(g: Tensor, u: Tensor, h: Tensor) -> None:
    """Add √g u to `h`."""
    h.addcmul_(g.sqrt(), u)


def spread(bias: Tensor, values: Tensor) -> Tensor:
    """Return one number per feature, shaped to broadcast over positions."""
    return bias[(..., *[None] * (values.dim() - 3))]


def per_example(values: Tensor) -> Tensor:
    """Return the sum over positions."""
    return values.flatten(3).sum(3) if values.dim() > 3 else values.clone()

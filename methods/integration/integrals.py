"""Volume, expectation and density: exact integrals over boxes of weights.

Expectations are under the uniform distribution on the box: integrals divided by its volume.
"""

import math

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from bnnbench.methods.integration.rectified import RectifiedSum
from bnnbench.methods.integration.region import Affine, Box, Rectified
from bnnbench.methods.integration.sums import SumOfUniforms, antiderivative
from bnnbench.methods.integration.weights import PiecewisePolynomial


def volume(box: Box, positive: Affine | None = None) -> Float64[Tensor, "*batch"]:
    """Return the volume of the box, or of the part where a function is positive."""
    if positive is None:
        return box.volume
    return box.volume * (1 - positive.on(box).cdf(torch.zeros(())))


def expectation(
    function: Affine | Rectified, box: Box, weight: PiecewisePolynomial | None = None
) -> Float64[Tensor, "*batch"]:
    """Return the mean over the box of the function, or of a weight as a function of it.

    Raises ValueError for a weight of a rectified function.
    """
    distribution = function.on(box)
    if weight is None:
        return distribution.mean
    if isinstance(distribution, RectifiedSum):
        raise ValueError("needed an affine function for a weight; got a rectified one")
    return mean_weight(distribution, weight)


def mean_weight(
    distribution: SumOfUniforms, weight: PiecewisePolynomial
) -> Float64[Tensor, "*batch"]:
    r"""Return the mean of a weight, as a function of a sum of uniforms f.

    $$ E[(f - \kappa)_+^p] = p! \, A^{(p + 1)}(E f - \kappa) $$

    For pieces much narrower than the range T of f, cancellation causes errors of about
    1e-16 (T / width)^p; `density` has no such limit.
    """
    total = torch.zeros((), dtype=torch.float64, device=distribution.centre.device)
    for term, power in enumerate(weight.powers):
        distance = distribution.centre - weight.knots[..., term]
        moment = antiderivative(distance, distribution.widths, power + 1)
        total = total + math.factorial(power) * weight.coefficients[..., term] * moment
    reach = distribution.widths.sum(-1) / 2
    low, high = distribution.centre - reach, distribution.centre + reach
    # Beyond all knots, the terms would cancel.
    total = torch.where(low >= weight.knots.amax(-1), weight.beyond, total)
    return torch.where(high <= weight.knots.amin(-1), 0.0, total)


def with_noise(
    function: Affine | Rectified, box: Box, half_base: Float[Tensor, "*#batch"]
) -> SumOfUniforms | RectifiedSum:
    r"""Return the distribution of a function of the box plus triangular noise on ± half_base.

    A triangle is the density of the sum of two uniforms, each of half its base. For an affine
    function, the result is therefore a sum of uniforms.
    """
    distribution, noise = function.on(box), torch.stack([half_base.double()] * 2, -1)
    if isinstance(distribution, RectifiedSum):
        return distribution.plus(noise)
    shape = torch.broadcast_shapes(distribution.widths.shape[:-1], noise.shape[:-1])
    parts = (part.expand(*shape, part.shape[-1]) for part in (distribution.widths, noise))
    return SumOfUniforms(distribution.centre, torch.cat(list(parts), -1))


def density(
    function: Affine | Rectified,
    box: Box,
    half_base: Float[Tensor, "*#batch"],
    y: Float[Tensor, "*#batch"],
) -> Float64[Tensor, "*batch"]:
    r"""Return $E[1/r - |y - f|/r^2]_+$, r = half_base: the likelihood averaged over the box.

    Source: paper 002, section 4, where it is a quotient of two weighted model integrals.
    """
    return with_noise(function, box, half_base).density(y)

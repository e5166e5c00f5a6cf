"""Weights: piecewise polynomials of a scalar, as sums of truncated powers."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Float64
from torch import Tensor


@dataclass(frozen=True)
class PiecewisePolynomial:
    r"""The function $\sum_k b_k (x - \kappa_k)_+^{p_k}$: 0 to the left of all knots."""

    knots: Float[Tensor, "*#batch terms"]
    powers: tuple[int, ...]
    coefficients: Float[Tensor, "*#batch terms"]
    beyond: float
    """The constant value to the right of all knots."""

    def __call__(self, x: Float[Tensor, "*#batch"]) -> Float64[Tensor, "*batch"]:
        """Return the value at `x`."""
        right = (x.double()[..., None] - self.knots).clamp(min=0.0)
        powers = torch.tensor(self.powers, device=right.device)
        inside = (self.coefficients * right**powers).sum(-1)
        past = x >= self.knots.amax(-1)
        return torch.where(past, self.beyond, inside)


def triangle(half_base: float, centre: float = 0.0) -> PiecewisePolynomial:
    r"""Return the density $1/r - |d|/r^2$ within r of the centre; its variance is r²/6."""
    knots = torch.tensor([-half_base, 0.0, half_base], dtype=torch.float64) + centre
    slopes = torch.tensor([1.0, -2.0, 1.0], dtype=torch.float64) / half_base**2
    return PiecewisePolynomial(knots, (1, 1, 1), slopes, 0.0)


SMOOTHSTEP_REACH = 3.522769163721558
"""Reach of the smoothstep cubic nearest to the logistic function in L2."""


def smoothstep(reach: float = SMOOTHSTEP_REACH) -> PiecewisePolynomial:
    r"""Return $\tfrac12 + \tfrac{3x}{4d} - \tfrac{x^3}{4d^3}$ within d of 0, and 0 and 1 outside.

    This cubic replaces the logistic function. Among continuous ones it has the minimum squared
    distance to it, 0.0623.
    """
    square, cube = 3 / (4 * reach**2), -1 / (4 * reach**3)
    knots = torch.tensor([-reach, -reach, reach, reach], dtype=torch.float64)
    coefficients = torch.tensor([square, cube, square, -cube], dtype=torch.float64)
    return PiecewisePolynomial(knots, (2, 3, 2, 3), coefficients, 1.0)

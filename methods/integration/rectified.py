"""Sums of rectified sums of uniforms: outputs of a network with ReLUs over a box of weights.

A unit with one uniform is a mixture of 0 and a uniform. A unit with several is integrated in closed
form if that is accurate. Otherwise it is integrated between breakpoints, where the integrand is a
polynomial, and Gauss-Legendre quadrature with few nodes is exact.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor

from bnnbench.methods.integration.sums import antiderivative

NARROW = 1e-3
"""The closed form is accurate to about 1e-10 for differences above this share of a unit's range."""


@dataclass(frozen=True)
class RectifiedSum:
    """The distribution of offset + Σ outgoing · ReLU(centre + uniforms) + further uniforms.

    At most one unit, the first, has several uniforms. Without further uniforms the distribution
    has atoms, and no density.
    """

    offset: Float[Tensor, "*#batch"]
    outgoing: Float[Tensor, "*#batch units"]
    centre: Float[Tensor, "*#batch units"]
    widths: Float[Tensor, "*#batch units uniforms"]
    further: Float[Tensor, "*#batch further"] | None = None

    def __post_init__(self) -> None:
        if ((self.widths[..., 1:, :] != 0).sum(-1) > 1).any():
            raise ValueError("needed several uniforms only in the first unit; got another")

    def plus(self, widths: Float[Tensor, "*#batch further"]) -> "RectifiedSum":
        """Return the distribution of the sum with further uniforms around 0."""
        return replace(self, further=widths)

    @property
    def off(self) -> Float64[Tensor, "*batch units"]:
        """The probability that a unit is off."""
        return antiderivative(-self.centre, self.widths, 1)

    @property
    def mean(self) -> Float64[Tensor, "*batch"]:
        """The sum of the offset and every unit's mean, E[ReLU(g)] times its outgoing weight."""
        on = antiderivative(self.centre, self.widths, 2)
        return self.offset.double() + (self.outgoing.double() * on).sum(-1)

    @property
    def variance(self) -> Float64[Tensor, "*batch"]:
        """The sum of the variances of all units, which are independent, and of further uniforms."""
        first, half_second = (antiderivative(self.centre, self.widths, q) for q in (2, 3))
        spread = (2 * half_second - first.square()).clamp(min=0.0)
        variance = (self.outgoing.double().square() * spread).sum(-1)
        return variance + self._further.square().sum(-1) / 12

    def density(self, y: Float[Tensor, "*#batch"]) -> Float64[Tensor, "*batch"]:
        """Return the density at `y`; raises ValueError if the distribution has atoms."""
        if self.further is None:
            raise ValueError("needed a density; got a distribution with atoms: use plus()")
        return self._mixed(y, 0)

    def cdf(self, y: Float[Tensor, "*#batch"]) -> Float64[Tensor, "*batch"]:
        """Return the probability of at most `y`."""
        return self._mixed(y, 1)

    @property
    def _further(self) -> Tensor:
        if self.further is None:
            return self.offset.new_empty(0, dtype=torch.float64)
        return self.further.double()

    def _mixed(self, y: Tensor, order: int) -> Tensor:
        """Return the density or the cdf, as a mixture over which units with one uniform are on."""
        several = bool((self.widths[..., 0, 1:] != 0).any())
        unit = _Unit(self.centre[..., 0].double(), self.widths[..., 0, :].double())
        outgoing = self.outgoing[..., 0].double()
        total = torch.zeros((), dtype=torch.float64, device=y.device)
        for share, shift, widths in self._combinations(1 if several else 0):
            distance = y.double() - self.offset.double() - shift
            further = _side_by_side([self._further, *widths])
            value = (
                unit.through_relu(distance, outgoing, further, order)
                if several
                else antiderivative(distance, further, order)
            )
            total = total + share * value
        return total

    def _combinations(self, first: int) -> Iterator[tuple[Tensor, Tensor, list[Tensor]]]:
        """Yield probability, shift and uniforms of each on/off pattern of units from `first` on."""
        one = self.offset.new_ones((), dtype=torch.float64)
        others = [self._parts(unit) for unit in range(first, self.centre.shape[-1])]
        for pattern in product(*others):
            share, shift, widths = one, one * 0, []
            for probability, centre, width in pattern:
                share, shift = share * probability, shift + centre
                widths += [] if width is None else [width[..., None]]
            yield share, shift, widths

    def _parts(self, unit: int) -> list[tuple[Tensor, Tensor, Tensor | None]]:
        """Return probability, centre and width of a unit with one uniform, when off and when on."""
        width = self.widths[..., unit, :].double().sum(-1)
        centre, outgoing = self.centre[..., unit].double(), self.outgoing[..., unit].double()
        low, high = ((centre + sign * width / 2).clamp(min=0.0) for sign in (-1, 1))
        certain = (centre > 0).double()
        on = torch.where(width > 0, (high - low) / torch.where(width > 0, width, 1.0), certain)
        part = on, outgoing * (low + high) / 2, outgoing.abs() * (high - low)
        return [(1 - on, torch.zeros_like(centre), None), part]


@dataclass(frozen=True)
class _Unit:
    """A unit's input: its centre and the uniforms around it."""

    centre: Float[Tensor, "*#batch"]
    widths: Float[Tensor, "*#batch uniforms"]

    def through_relu(self, x: Tensor, outgoing: Tensor, further: Tensor, order: int) -> Tensor:
        """Return density or cdf at `x` of outgoing · ReLU(unit) + further uniforms."""
        rectified = self.centre.clamp(min=0.0)
        certain = antiderivative(x - outgoing * rectified, further, order)
        off = antiderivative(-self.centre, self.widths, 1)
        divisor = torch.where(outgoing == 0, 1.0, outgoing)
        narrowest = further.amin(-1) / divisor.abs()
        closed = further.shape[-1] == 2 and (narrowest > NARROW * self.widths.sum(-1)).all()
        by = self._in_closed_form if closed else self._by_quadrature
        value = off * antiderivative(x, further, order) + by(x, divisor, further, order)
        return torch.where((self.widths == 0).all(-1) | (outgoing == 0), certain, value)

    def _in_closed_form(self, x: Tensor, outgoing: Tensor, further: Tensor, order: int) -> Tensor:
        """Return the unit's "on" part of density or cdf, for two further uniforms.

        In units of the outgoing weight, it is second differences of E[(z - g)_+^(q - 1); g > 0] /
        (q - 1)!, which is the value without ReLU minus the Taylor polynomial of the part
        below 0. Where the kernel does not reach below 0, it is the sum of all uniforms.
        """
        z, kernel = x / outgoing, further / outgoing.abs()[..., None]
        outer, inner = kernel.sum(-1) / 2, (kernel[..., 0] - kernel[..., 1]).abs() / 2
        below = [antiderivative(-self.centre, self.widths, j + 1) for j in range(order + 2)]

        def above(at: Tensor) -> Tensor:
            value = antiderivative(at - self.centre, self.widths, order + 2)
            for power, part in enumerate(reversed(below)):
                value = value - part * at**power / math.factorial(power)
            return torch.where(at <= 0, 0.0, value)

        ends = above(z + outer) - above(z + inner) - above(z - inner) + above(z - outer)
        smooth = antiderivative(z - self.centre, _side_by_side([self.widths, kernel]), order)
        inside = smooth - below[0] if order else smooth
        value = torch.where(z >= outer, inside, ends / kernel.prod(-1))
        value = torch.where(z <= -outer, 0.0, value)
        return (
            torch.where(outgoing > 0, value, 1 - below[0] - value)
            if order
            else (value / outgoing.abs())
        )

    def _by_quadrature(self, x: Tensor, outgoing: Tensor, further: Tensor, order: int) -> Tensor:
        """Return the same for any further uniforms: nodes between kinks, only positive terms."""
        kinks = (x[..., None] - _corners(further)) / outgoing[..., None] - self.centre[..., None]

        def integrand(at: Tensor) -> Tensor:
            value = self.centre[..., None] + at
            distance = x[..., None] - outgoing[..., None] * value
            return antiderivative(distance, further[..., None, :], order)

        return self.integral_where_on(integrand, kinks, further.shape[-1] - 1 + order)

    def integral_where_on(
        self, integrand: Callable[[Tensor], Tensor], kinks: Tensor, degree: int
    ) -> Tensor:
        """Return E[integrand(X); centre + X > 0], for polynomials of this degree between kinks."""
        reach = self.widths.sum(-1) / 2
        low = torch.maximum(-reach, torch.minimum(-self.centre, reach))
        corners = _corners(self.widths)
        parts = (kinks, corners, low[..., None], reach[..., None])
        breaks = _side_by_side(parts)
        breaks = torch.maximum(torch.minimum(breaks, reach[..., None]), low[..., None])
        breaks = breaks.sort(-1).values
        count = (self.widths.shape[-1] - 1 + degree) // 2 + 1
        nodes, weights = map(torch.from_numpy, np.polynomial.legendre.leggauss(count))
        half = breaks.diff(dim=-1)[..., None] / 2
        middle = (breaks[..., 1:] + breaks[..., :-1])[..., None] / 2
        at = (middle + half * nodes.to(half)).flatten(-2)
        share = (half * weights.to(half)).flatten(-2)
        return (share * antiderivative(at, self.widths[..., None, :], 0) * integrand(at)).sum(-1)


def _corners(widths: Tensor) -> Tensor:
    """Return the sums of ± half of every width, at which a density changes its polynomial."""
    corners = torch.zeros_like(widths.sum(-1, keepdim=True))
    for width in widths.unbind(-1):
        corners = torch.cat([corners - width[..., None] / 2, corners + width[..., None] / 2], -1)
    return corners


def _side_by_side(parts: Sequence[Tensor]) -> Tensor:
    """Return the parts concatenated along the last axis."""
    shape = torch.broadcast_shapes(*(part.shape[:-1] for part in parts))
    return torch.cat([part.expand(*shape, part.shape[-1]) for part in parts], -1)

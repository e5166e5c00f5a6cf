"""Sums of uniforms in rational arithmetic, by 2^N truncated powers."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import factorial, prod


def antiderivative(x: Fraction, widths: Sequence[Fraction], order: int) -> Fraction:
    """Return E[(x - X)_+^(order - 1)] / (order - 1)! of X, or the density of X for order 0.

    X is a sum of independent uniforms of these widths around 0, some of which are positive.
    """
    widths = [width for width in widths if width]
    power = len(widths) - 1 + order
    total = Fraction(0)
    for signs in product((-1, 1), repeat=len(widths)):
        reach = x + sum((s * t for s, t in zip(signs, widths, strict=True)), Fraction(0)) / 2
        if reach > 0:
            total += prod(signs) * reach**power
    return total / (factorial(power) * prod(widths))


def rectified_density(
    y: Fraction, outgoing: Fraction, centre: Fraction, widths: Sequence[Fraction], base: Fraction
) -> Fraction:
    """Return the density of outgoing · ReLU(centre + X) plus triangular noise on ± base.

    If the unit is off, this is the density of the noise; if it is on, second differences of
    E[(z - g)_+; g > 0], whose part below 0 is a Taylor remainder.
    """
    off = antiderivative(-centre, widths, 1)
    triangle = max(Fraction(0), 1 / base - abs(y) / base**2)

    def above(z: Fraction) -> Fraction:
        if z <= 0:
            return Fraction(0)
        return antiderivative(z - centre, widths, 2) - off * z - antiderivative(-centre, widths, 2)

    z, step = y / outgoing, base / abs(outgoing)
    second_difference = above(z + step) - 2 * above(z) + above(z - step)
    return off * triangle + second_difference / (abs(outgoing) * step**2)

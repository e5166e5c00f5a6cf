"""Weighted model integration problems as polytopes with polynomials, in rational numbers.

This is the input of general solvers. A region is a box cut by half-spaces, with one piece for
each side of a ReLU and each piece of the weight.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

Exponents = tuple[int, ...]
Polynomial = Mapping[Exponents, Fraction]
"""Exponents of the variables → coefficient"""


@dataclass(frozen=True)
class HalfSpace:
    """All points with normal · x ≤ bound."""

    normal: tuple[Fraction, ...]
    bound: Fraction


@dataclass(frozen=True)
class Piece:
    """A polynomial on a box cut by half-spaces."""

    lower: tuple[Fraction, ...]
    upper: tuple[Fraction, ...]
    half_spaces: tuple[HalfSpace, ...]
    polynomial: Polynomial

    @property
    def faces(self) -> tuple[HalfSpace, ...]:
        """All half-spaces, starting with the box's."""
        sides = []
        for axis, (low, high) in enumerate(zip(self.lower, self.upper, strict=True)):
            for sign, bound in ((-1, -low), (1, high)):
                normal = [Fraction(0)] * len(self.lower)
                normal[axis] = Fraction(sign)
                sides.append(HalfSpace(tuple(normal), bound))
        return (*sides, *self.half_spaces)


Problem = Sequence[Piece]
"""Pieces that overlap at most in their faces: the integral is the sum over pieces."""


def triangular_likelihood(
    lower: Sequence[Fraction],
    upper: Sequence[Fraction],
    slopes: Sequence[Fraction],
    offset: Fraction,
    half_base: Fraction,
    y: Fraction,
    outgoing: Fraction | None = None,
    constant: Fraction = Fraction(0),
) -> list[Piece]:
    """Return the integral over a box of the triangular density of y around a function.

    The function is offset + slopes · w, or constant + outgoing · ReLU(offset + slopes · w).
    """
    exponents = _unit_exponents(len(slopes))
    zero = (0,) * len(slopes)
    affine = {zero: offset} | dict(zip(exponents, slopes, strict=True))
    if outgoing is None:
        branches = [(affine, ())]
    else:
        on = {e: outgoing * c for e, c in affine.items()}
        on[zero] += constant
        branches = [(on, (at_most(affine, -1),)), ({zero: constant}, (at_most(affine, 1),))]
    pieces = []
    for (function, split), side in product(branches, (1, -1)):
        # side 1: f below y, where the density is (r - y + f) / r²
        distance = {e: -side * c for e, c in function.items()}
        distance[zero] = distance.get(zero, Fraction(0)) + side * y
        within = at_most({**distance, zero: distance[zero] - half_base}, 1)
        polynomial = {e: -c / half_base**2 for e, c in distance.items()}
        polynomial[zero] += 1 / half_base
        cuts = (*split, at_most(distance, -1), within)
        proper = tuple(cut for cut in cuts if any(cut.normal))
        # A cut on a constant holds everywhere or nowhere; at the peak both sides would hold.
        empty = any(cut.bound < 0 for cut in cuts if not any(cut.normal))
        if not empty and not (side < 0 and not any(distance.values())):
            pieces.append(Piece(tuple(lower), tuple(upper), proper, polynomial))
    return pieces


def at_most(affine: Polynomial, sign: int) -> HalfSpace:
    """Return the half-space in which an affine function is at most 0, or at least 0 for sign -1."""
    dimensions = len(next(iter(affine)))
    zero = (0,) * dimensions
    normal = tuple(sign * affine.get(e, Fraction(0)) for e in _unit_exponents(dimensions))
    return HalfSpace(normal, -sign * affine.get(zero, Fraction(0)))


def _unit_exponents(dimensions: int) -> list[Exponents]:
    return [tuple(int(i == axis) for i in range(dimensions)) for axis in range(dimensions)]

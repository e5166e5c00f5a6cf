"""Boxes of weights, computed from the iterates of a trajectory."""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

Bounds = Literal["minmax", "moment"]
"""Bounds of a weight: its minimum and maximum iterate, or those of the uniform with the iterates'
mean and variance."""
Axes = Literal["weights", "principal"]
"""Axes of a box: the weights, or the principal directions of the iterates."""


@dataclass(frozen=True)
class Sides:
    """Bounds of every weight of a network."""

    lower: Float[Tensor, "*shape"]
    upper: Float[Tensor, "*shape"]
    variance: Float[Tensor, "*shape"]
    """Variance of the iterates."""

    @property
    def middle(self) -> Float[Tensor, "*shape"]:
        """The centre of the box."""
        return (self.lower + self.upper) / 2

    @property
    def width(self) -> Float[Tensor, "*shape"]:
        """Edge lengths of the box."""
        return self.upper - self.lower

    def part(self, offset: int, shape: tuple[int, ...]) -> "Sides":
        """Return the sides of one parameter, given its position in flat vectors."""
        positions = slice(offset, offset + math.prod(shape))
        return Sides(*(t[positions].view(shape) for t in (self.lower, self.upper, self.variance)))


@dataclass(frozen=True)
class Rotated:
    """A box along the principal directions of iterates: a weight vector is centre + directions z.

    The iterates' coordinates z are uncorrelated, so a box that matches their moments has the
    iterates' covariance, and an affine function of the weights is still a sum of uniforms.
    """

    centre: Float[Tensor, " parameters"]
    """The mean of the iterates."""
    directions: Float[Tensor, "parameters rank"]
    """Orthonormal columns; at most one fewer than iterates."""
    sides: Sides
    """Bounds of z."""


def rotated(samples: Float[Tensor, "samples parameters"], bounds: Bounds) -> Rotated:
    """Return the box around at least two iterates along their principal directions."""
    samples = samples.double()
    centre = samples.mean(0)
    rows = torch.linalg.svd(samples - centre, full_matrices=False).Vh[: len(samples) - 1]
    return Rotated(centre, rows.T, sides((samples - centre) @ rows.T, bounds))


def sides(samples: Float[Tensor, "samples parameters"], bounds: Bounds) -> Sides:
    """Return the box around the iterates."""
    variance = samples.var(0)
    if bounds == "minmax":
        return Sides(samples.amin(0), samples.amax(0), variance)
    reach = (3 * variance).sqrt()
    mean = samples.mean(0)
    return Sides(mean - reach, mean + reach, torch.as_tensor(variance))

"""Boxes of weights, and functions of them: affine, or split by the kinks of ReLUs."""

from dataclasses import dataclass

from jaxtyping import Float, Float64
from torch import Tensor

from bnnbench.methods.integration.rectified import RectifiedSum
from bnnbench.methods.integration.sums import SumOfUniforms


@dataclass(frozen=True)
class Box:
    """All weights between their bounds; a weight whose bounds are equal is a constant."""

    lower: Float[Tensor, "*#batch weights"]
    upper: Float[Tensor, "*#batch weights"]

    def __post_init__(self) -> None:
        if (self.upper < self.lower).any():
            raise ValueError("needed lower bounds of at most the upper bounds; got larger ones")

    @property
    def widths(self) -> Float64[Tensor, "*batch weights"]:
        """The length of each edge."""
        return self.upper.double() - self.lower.double()

    @property
    def centre(self) -> Float64[Tensor, "*batch weights"]:
        """The mean of the uniform distribution on the box."""
        return (self.upper.double() + self.lower.double()) / 2

    @property
    def volume(self) -> Float64[Tensor, "*batch"]:
        """The product of all edges."""
        return self.widths.prod(-1)


@dataclass(frozen=True)
class Affine:
    """The function offset + slopes · weights."""

    offset: Float[Tensor, "*#batch"]
    slopes: Float[Tensor, "*#batch weights"]

    def on(self, box: Box) -> SumOfUniforms:
        """Return the distribution of the function under the uniform distribution on the box."""
        slopes = self.slopes.double()
        centre = self.offset.double() + (slopes * box.centre).sum(-1)
        return SumOfUniforms(centre, slopes.abs() * box.widths)


@dataclass(frozen=True)
class Rectified:
    """The function offset + Σ outgoing · ReLU(inner): every unit splits the box by a half-space.

    Each weight has a slope in only one unit, and at most one unit has several weights.
    """

    offset: Float[Tensor, "*#batch"]
    outgoing: Float[Tensor, "*#batch units"]
    inner: Affine
    """Inputs of each unit: `*batch units` offsets and `*batch units weights` slopes."""

    def __post_init__(self) -> None:
        if ((self.inner.slopes != 0).sum(-2) > 1).any():
            raise ValueError("needed weights that enter one unit each; got one that enters several")

    def on(self, box: Box) -> RectifiedSum:
        """Return the distribution of the function under the uniform distribution on the box."""
        inner = self.inner.on(Box(box.lower[..., None, :], box.upper[..., None, :]))
        return RectifiedSum(self.offset, self.outgoing, inner.centre, inner.widths)

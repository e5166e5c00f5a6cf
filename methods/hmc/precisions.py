r"""Precisions with Gamma priors, drawn from their conditional distributions.

With a prior Gamma(shape a, rate b), n numbers x ~ N(0, 1/τ) give

$$ \tau \mid x \sim \mathrm{Gamma}(a + n/2,\; b + \textstyle\sum x^2/2). $$
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class GammaPrior:
    """The prior of a precision, or its fixed value."""

    shape: float
    rate: float
    fixed: float | None = None

    @property
    def mean(self) -> float:
        """The prior mean, or the fixed value."""
        return self.shape / self.rate if self.fixed is None else self.fixed


class PrecisionDraws:
    """Draws of the precision of `count` numbers; every stream serves several chains.

    All random numbers are drawn at once, as standard Gamma variables, and later divided by the
    rate.
    """

    def __init__(
        self,
        prior: GammaPrior,
        count: int,
        rngs: Sequence[torch.Generator],
        chains: int,
        iterations: int,
    ) -> None:
        self.prior, self.count = prior, count
        shape = prior.shape + count / 2
        device = rngs[0].device
        shapes = torch.full((iterations + 1, chains), shape, dtype=torch.float64, device=device)
        shapes[0] = prior.shape
        self._standard = torch.cat(
            [
                torch.full_like(shapes, prior.fixed)
                if prior.fixed is not None
                else torch.ops.aten._standard_gamma(shapes, rng)
                for rng in rngs
            ],
            dim=1,
        )

    def initial(self) -> Float[Tensor, " members"]:
        """Return draws from the prior."""
        return self._scaled(0, torch.zeros_like(self._standard[0]))

    def given(
        self, iteration: int, half_squares: Float[Tensor, " members"]
    ) -> Float[Tensor, " members"]:
        """Return draws given half the sum of squared numbers."""
        return self._scaled(iteration + 1, half_squares)

    def log_prob(
        self, precision: Float[Tensor, " members"], half_squares: Float[Tensor, " members"]
    ) -> Float[Tensor, " members"]:
        """Return the joint log density of the numbers and their precision, up to a constant."""
        numbers = self.count / 2 * precision.log() - precision * half_squares
        if self.prior.fixed is not None:
            return numbers
        return numbers + (self.prior.shape - 1) * precision.log() - self.prior.rate * precision

    def _scaled(self, row: int, half_squares: Tensor) -> Tensor:
        if self.prior.fixed is not None:
            return self._standard[row]
        return self._standard[row] / (self.prior.rate + half_squares)

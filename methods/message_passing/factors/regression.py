r"""The factor $\mathcal N(y; z, \gamma^{-1})$: observed targets with known or learned noise.

A learned noise precision γ has a Gamma posterior, updated by variational message passing: the
marginals of z and γ are treated as independent. Source: paper 000, table 3; Winn and Bishop
(2005), "Variational Message Passing", section 3.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.message_passing.gaussian import Gaussian


def backward(targets: Float[Tensor, "*shape"], noise_variance: Tensor | float) -> Gaussian:
    """Return the message to z: N(targets, noise variance), broadcast over targets.

    If the noise is learned, the variance is 1/`Gamma.mean`.
    """
    variance = torch.as_tensor(noise_variance, dtype=targets.dtype, device=targets.device)
    return Gaussian.of(targets, variance.expand(targets.shape))


@dataclass(frozen=True, slots=True)
class Gamma:
    r"""Increments of a Gamma density $\gamma^{shape - 1} e^{-rate\,\gamma}$, one per member.

    A message holds only its increments: multiplying a prior and messages adds both numbers, and
    dividing subtracts them. The uniform message is Gamma(0, 0).
    """

    shape: Float[Tensor, " members"]
    rate: Float[Tensor, " members"]

    @property
    def mean(self) -> Float[Tensor, " members"]:
        """E[γ], the precision of the message to z."""
        return self.shape / self.rate

    @property
    def mean_variance(self) -> Float[Tensor, " members"]:
        """E[1/γ], the noise variance of a prediction; infinite unless shape > 1."""
        return torch.where(self.shape > 1, self.rate / (self.shape - 1), torch.inf)

    def __mul__(self, other: "Gamma") -> "Gamma":
        return Gamma(self.shape + other.shape, self.rate + other.rate)

    def __truediv__(self, other: "Gamma") -> "Gamma":
        return Gamma(self.shape - other.shape, self.rate - other.rate)

    def moved(self, towards: "Gamma", step: float) -> "Gamma":
        """Return the increments moved a share `step` of the way to another message's."""
        return Gamma(
            torch.lerp(self.shape, towards.shape, step), torch.lerp(self.rate, towards.rate, step)
        )


def message_to_precision(targets: Float[Tensor, "members rows outputs"], z: Gaussian) -> Gamma:
    r"""Return the message of a batch of rows to γ, which all of its outputs share.

    $$ \Delta shape = n/2, \qquad
       \Delta rate = \tfrac12 \sum (y - \mathrm E[z])^2 + \mathrm{Var}[z] $$

    over its n targets, with the moments of the *marginals* z. The caller stores it: the next visit
    of the batch divides it out.
    """
    surprise = (targets - z.mean).square() + z.variance
    # One member at a time, so that a sum does not depend on the other members.
    rate = torch.stack([0.5 * member.flatten().sum() for member in surprise.contiguous()])
    return Gamma(torch.full_like(rate, 0.5 * targets[0].numel()), rate)

r"""The factor $\delta(s - \sum_i c_i v_i)$ with constants c, exact. Source: paper 000, table 2.

Terms are summed in order, element by element, so that an element's result does not depend on its
position in a tensor.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.message_passing.factors.double import moments, narrowed
from bnnbench.methods.message_passing.gaussian import Gaussian


def forward(coefficients: Sequence[Tensor | float], terms: Sequence[Gaussian]) -> Gaussian:
    """Return the message to the sum: mean Σ c m, variance Σ c² s."""
    pairs = _scaled(coefficients, terms)
    mean, variance = pairs[0]
    for more_mean, more_variance in pairs[1:]:
        mean, variance = mean + more_mean, variance + more_variance
    return narrowed(Gaussian.of(mean, variance), terms[0])


def backward(
    coefficients: Sequence[Tensor | float], terms: Sequence[Gaussian], back: Gaussian
) -> list[Gaussian]:
    """Return the message to each term, given the message from the sum.

    The other terms are summed rather than subtracted from the total, so that nothing cancels. A
    uniform message from the sum, or a coefficient 0, gives uniform messages.
    """
    pairs = _scaled(coefficients, terms)
    tau, rho = back.tau.double(), back.rho.double()
    messages = []
    for coefficient, (mean, variance) in zip(coefficients, _others(pairs), strict=True):
        divisor = 1 + rho * variance
        messages.append(
            narrowed(
                Gaussian(
                    coefficient * (tau - rho * mean) / divisor, coefficient**2 * rho / divisor
                ),
                back,
            )
        )
    return messages


Moments = tuple[Float[Tensor, "*shape"], Float[Tensor, "*shape"]]


def _scaled(
    coefficients: Sequence[Tensor | float], terms: Sequence[Gaussian]
) -> list[tuple[Tensor, Tensor]]:
    """Return mean and variance of each c v."""
    pairs = []
    for coefficient, term in zip(coefficients, terms, strict=True):
        mean, variance = moments(term)
        pairs.append((coefficient * mean, coefficient**2 * variance))
    return pairs


def _others(pairs: list[tuple[Tensor, Tensor]]) -> list[tuple[Tensor, Tensor]]:
    """Return, for each pair, the sums over all other pairs."""
    zero = torch.zeros_like(pairs[0][0])
    before, after = [(zero, zero)], [(zero, zero)]
    for left, right in zip(pairs[:-1], pairs[:0:-1], strict=True):
        before.append((before[-1][0] + left[0], before[-1][1] + left[1]))
        after.append((after[-1][0] + right[0], after[-1][1] + right[1]))
    return [(b[0] + a[0], b[1] + a[1]) for b, a in zip(before, reversed(after), strict=True)]

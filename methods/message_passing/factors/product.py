r"""The factor $\delta(c - ab)$, by variational message passing. Source: paper 000, table 2.

Both directions use the *marginals* of a and b, not their cavities, unlike a weighted sum.
"""

from bnnbench.methods.message_passing.factors.double import moments, narrowed
from bnnbench.methods.message_passing.gaussian import Gaussian


def forward(a: Gaussian, b: Gaussian) -> Gaussian:
    """Return the message to c: mean and variance of a product of independent variables."""
    a_mean, a_variance = moments(a)
    b_mean, b_variance = moments(b)
    variance = a_variance * (b_variance + b_mean.square()) + a_mean.square() * b_variance
    return narrowed(Gaussian.of(a_mean * b_mean, variance), a)


def backward(a: Gaussian, back: Gaussian) -> Gaussian:
    """Return the message to b, given the marginal of a and the message from c.

    The message to a is `backward(b, back)`.
    """
    mean, variance = moments(a)
    return narrowed(
        Gaussian(mean * back.tau.double(), (mean.square() + variance) * back.rho.double()), back
    )

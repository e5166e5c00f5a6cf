r"""The factor $\delta(a - \max(z, 0))$. Source: paper 000, appendix B.1.

The limit of `leaky_relu` at slope 0. The output of a unit that is certainly off is the point 0,
which no proper message can represent: the direct message is used instead, and the point's variance
is set to 1e-8 times the variance of z.
"""

from jaxtyping import Bool
from torch import Tensor

from bnnbench.methods.message_passing.factors import leaky_relu
from bnnbench.methods.message_passing.gaussian import Gaussian


def direct(z: Gaussian) -> Gaussian:
    """Return the Gaussian with the moments of ReLU(z)."""
    return leaky_relu.direct(z, 0.0)


def forward(z: Gaussian, a: Gaussian) -> tuple[Gaussian, Bool[Tensor, "*shape"]]:
    """Return the message to a, and where a guard replaced it although a is informative."""
    return leaky_relu.forward(z, a, 0.0)


def backward(z: Gaussian, a: Gaussian) -> tuple[Gaussian, Bool[Tensor, "*shape"]]:
    """Return the message to z, and where a guard replaced it although a is not uniform."""
    return leaky_relu.backward(z, a, 0.0)

r"""The factor $\delta(s - u - v)$ that joins two branches: a weighted sum with coefficients 1."""

from bnnbench.methods.message_passing.factors import weighted_sum
from bnnbench.methods.message_passing.gaussian import Gaussian


def forward(left: Gaussian, right: Gaussian) -> Gaussian:
    """Return the message to the sum of two branches."""
    return weighted_sum.forward((1.0, 1.0), (left, right))


def backward(left: Gaussian, right: Gaussian, back: Gaussian) -> tuple[Gaussian, Gaussian]:
    """Return the messages to both branches, given the branches' messages and the sum's."""
    to_left, to_right = weighted_sum.backward((1.0, 1.0), (left, right), back)
    return to_left, to_right

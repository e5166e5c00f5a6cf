"""The negative log likelihood of rows, given the outputs of any network of a trajectory."""

import math

from jaxtyping import Float, Shaped
from torch import Tensor

from bnnbench.datasets.base import Categorical, Likelihood
from bnnbench.methods.networks.heteroscedastic import gaussian_losses


def row_losses(
    likelihood: Likelihood,
    outputs: Float[Tensor, "members points outputs"],
    targets: Shaped[Tensor, "#members points *target"],
    noise_variance: Float[Tensor, " #members"] | None,
) -> Float[Tensor, "members points"]:
    """Return the negative log likelihood of each row, in nats, with gradient.

    Without a noise variance, the outputs of a regression are means and variances.
    """
    if isinstance(likelihood, Categorical):
        labels = targets.expand(len(outputs), -1)[..., None]
        return -outputs.log_softmax(-1).gather(-1, labels.long()).squeeze(-1)
    if noise_variance is None:
        return gaussian_losses(outputs, targets)
    variance = noise_variance[:, None, None]
    each = (targets - outputs).square() / variance + (2 * math.pi * variance).log()
    return 0.5 * each.sum(-1)

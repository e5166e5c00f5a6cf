"""The posterior of standardised targets, in the units of the targets."""

import math

from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.pbp.state import State


def restore(state: State, mean: Float[Tensor, " outputs"], std: Float[Tensor, " outputs"]) -> None:
    """Change a posterior of standardised targets into that of the targets.

    Weights of the last layer are multiplied by the deviation; the last bias is moved by the mean.
    """
    if not len(mean):
        return
    means, variances = (state.layout.layers(values)[-1] for values in (state.mean, state.variance))
    means.mul_(std[:, None])
    means[:, -1].add_(mean * math.sqrt(means.shape[1]))
    variances.mul_(std.square()[:, None])
    state.noise[:, 1].mul_(std.square())

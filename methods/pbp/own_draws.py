r"""The outputs' standard deviation by propagated moments, relative to draws of the same weights.

Paper 004 treats the units of a layer as independent. They share the units of the layer before, and
thus are correlated from the second hidden layer on. The ratio is 1 with one hidden layer, and less
with more.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.pbp.propagation import outputs
from bnnbench.methods.pbp.state import State

DRAWS = 1000
"""Number of weight draws per row, for which a row's ratio has an error of 2 %."""
ROWS = 16


def std_over_draws(
    state: State,
    inputs: Float[Tensor, "points features"],
    rng: torch.Generator,
    covariances: bool = False,
) -> float:
    """Return the geometric mean over rows and outputs of the ratio of standard deviations."""
    _, variance = outputs(state, inputs, covariances)
    drawn = drawn_outputs(state, inputs, DRAWS, rng).var(0)
    return float((variance / drawn).log().mean().div(2).exp())


def drawn_outputs(
    state: State, inputs: Float[Tensor, "points features"], draws: int, rng: torch.Generator
) -> Float[Tensor, "draws points outputs"]:
    """Return the outputs of independently drawn weights for every draw and row.

    Given its inputs, a layer's sums are independent Gaussians, so the sums are drawn instead of the
    weights. Draws of different rows do not share weights.
    """
    z = inputs.expand(draws, *inputs.shape)
    means, variances = (state.layout.layers(values) for values in (state.mean, state.variance))
    sums = z
    for m, v in zip(means, variances, strict=True):
        z = torch.nn.functional.pad(z, (0, 1), value=1.0)
        noise = torch.empty(*z.shape[:-1], len(m), dtype=z.dtype, device=rng.device)
        noise = noise.normal_(generator=rng).to(z.device)
        k = m.shape[1]
        sums = z @ m.T / math.sqrt(k) + (z.square() @ v.T / k).sqrt() * noise
        z = sums.clamp(min=0)
    return sums

"""Elliptical slice sampling of a density times a Gaussian, without settings or rejections.

Source: Murray, Adams and MacKay (2010), "Elliptical Slice Sampling", figure 2.
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.base import InferenceDiverged
from bnnbench.methods.checkpoints import checkpoint


def elliptical_slices(
    log_likelihood: Callable[[Float[Tensor, " coordinates"]], float],
    start: Float[Tensor, " coordinates"],
    prior_std: float,
    count: int,
    rng: torch.Generator,
) -> tuple[Float[Tensor, "draws coordinates"], int]:
    """Return `count` states of the chain after `start`, and the number of evaluations.

    The chain leaves exp(log_likelihood(z)) N(z; 0, s² I) invariant. Raises `InferenceDiverged`
    if the log likelihood of the start is not finite.
    """
    states, values, evaluations = [start], [log_likelihood(start)], [1]
    if not math.isfinite(values[0]):
        raise InferenceDiverged("the log likelihood at the start of a slice is not finite")
    for _ in checkpoint.epochs(count, states, values, evaluations, rng):
        state = states[-1]
        other = prior_std * torch.empty_like(state).normal_(generator=rng)
        turn, level = torch.rand(2, generator=rng, dtype=torch.float64, device=rng.device).tolist()
        threshold = values[-1] + math.log1p(-level)
        angle = 2 * math.pi * turn
        low, high = angle - 2 * math.pi, angle
        evaluations.append(0)
        while True:
            proposal = state * math.cos(angle) + other * math.sin(angle)
            value = log_likelihood(proposal)
            evaluations[-1] += 1
            if value >= threshold:
                break
            low, high = (angle, high) if angle < 0 else (low, angle)
            (share,) = torch.rand(1, generator=rng, dtype=torch.float64, device=rng.device).tolist()
            angle = low + share * (high - low)
        states.append(proposal)
        values.append(value)
    return torch.stack(states[1:]), sum(evaluations)

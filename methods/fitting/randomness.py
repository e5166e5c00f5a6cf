"""Random numbers of members that share a tensor but not a stream."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor


def normal(
    rngs: Sequence[torch.Generator], *shape: int, dtype: torch.dtype
) -> Float[Tensor, "members *shape"]:
    """Return standard normals; member m's come from `rngs[m]` alone."""
    values = torch.empty(len(rngs), *shape, dtype=dtype, device=rngs[0].device)
    for member, rng in zip(values, rngs, strict=True):
        member.normal_(generator=rng)
    return values


def spawn(rng: torch.Generator, count: int) -> list[torch.Generator]:
    """Return independent streams that follow from the state of `rng`, and advance it."""
    seeds = torch.randint(2**62, (count,), generator=rng, device=rng.device).tolist()
    return [torch.Generator(rng.device).manual_seed(seed) for seed in seeds]

"""Random numbers for members that share a tensor but not a stream."""

from collections.abc import Sequence
from functools import cached_property

import torch
from jaxtyping import Float, Shaped
from torch import Tensor


class Streams:
    """The streams of members. Members with the same generator get the same numbers.

    Each generator draws once, in the order of first members.
    """

    def __init__(self, rngs: Sequence[torch.Generator]) -> None:
        self.of_members = tuple(rngs)
        self.distinct = tuple({id(rng): rng for rng in rngs}.values())

    @cached_property
    def _places(self) -> Tensor:
        numbers = {id(rng): number for number, rng in enumerate(self.distinct)}
        places = [numbers[id(rng)] for rng in self.of_members]
        return torch.tensor(places, device=self.of_members[0].device)

    def __len__(self) -> int:
        return len(self.of_members)

    def first(self, members: int) -> "Streams":
        """Return the streams of the first members."""
        return self if members == len(self) else Streams(self.of_members[:members])

    def to_members(
        self, drawn: Shaped[Tensor, "streams *shape"]
    ) -> Shaped[Tensor, "members *shape"]:
        """Return each member's row of the numbers drawn from the distinct streams."""
        if len(self.distinct) == len(self):
            return drawn
        return drawn.index_select(0, self._places)


def normal(
    rngs: Sequence[torch.Generator] | Streams, *shape: int, dtype: torch.dtype
) -> Float[Tensor, "members *shape"]:
    """Return standard normals; member m's come only from `rngs[m]`."""
    streams = rngs if isinstance(rngs, Streams) else Streams(rngs)
    device = streams.distinct[0].device
    values = torch.empty(len(streams.distinct), *shape, dtype=dtype, device=device)
    for row, rng in zip(values, streams.distinct, strict=True):
        row.normal_(generator=rng)
    return streams.to_members(values)


def spawn(rng: torch.Generator, count: int) -> list[torch.Generator]:
    """Return independent streams determined by the state of `rng`, and advance it."""
    seeds = torch.randint(2**62, (count,), generator=rng, device=rng.device).tolist()
    return [torch.Generator(rng.device).manual_seed(seed) for seed in seeds]

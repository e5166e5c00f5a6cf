"""Batches of test points, the same for every method and seed with as many points."""

import math

import torch
from jaxtyping import Int
from torch import Tensor

from bnnbench.methods.predictions.base import CannotAnswer

SIZE = 10
"""Number of points in a batch: τ of Osband et al."""
MOST_BATCHES = 2000
MOST_PAIRS = 20_000


def batches(points: int, most: int = MOST_BATCHES) -> Int[Tensor, "batches size"]:
    """Return rows of batches of `SIZE` different points, from random partitions of all points.

    A partition leaves out the points that fill no batch. Raises `CannotAnswer` for fewer points.
    """
    per_round = points // SIZE
    if per_round == 0:
        raise CannotAnswer(f"needed {SIZE} test points for a batch; got {points}")
    rng, used = torch.Generator().manual_seed(0), per_round * SIZE
    count = 1 if points == SIZE else math.ceil(most / per_round)
    rounds = [torch.randperm(points, generator=rng)[:used] for _ in range(count)]
    return torch.cat(rounds).view(-1, SIZE)[: max(most, per_round)]


def pairs(points: int) -> tuple[Int[Tensor, " pairs"], Int[Tensor, " pairs"]]:
    """Return both rows of pairs of different points.

    These are all pairs where there are at most `MOST_PAIRS`. Otherwise they are about so many
    random ones, of which every point has equally many. Raises `CannotAnswer` for a single point.
    """
    if points < 2:
        raise CannotAnswer(f"needed two test points for a pair; got {points}")
    if math.comb(points, 2) <= MOST_PAIRS:
        first, second = torch.triu_indices(points, points, 1)
        return first, second
    rng = torch.Generator().manual_seed(0)
    order = torch.randperm(points, generator=rng)
    count = max(1, MOST_PAIRS // points)
    shifts = 1 + torch.randperm((points - 1) // 2, generator=rng)[:count]
    shifted = [order.roll(int(shift)) for shift in shifts]
    return order.repeat(count), torch.cat(shifted)

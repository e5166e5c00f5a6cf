"""Batches of test points, and the draws of a prediction that are functions of the input."""

import math
from typing import Any

import torch
from jaxtyping import Float64, Int
from torch import Tensor

from bnnbench.methods.predictions.base import CannotAnswer, HasDrawLogProbs

SIZE = 10
"""Number of points in a batch: τ of Osband et al."""
MOST_BATCHES = 2000
MOST_PAIRS = 20_000


def batches(points: int, most: int = MOST_BATCHES) -> Int[Tensor, "batches size"]:
    """Return rows of batches of `SIZE` different points, from random partitions of all points.

    A partition leaves out the points that do not fill a batch. Raises `CannotAnswer` for fewer than
    `SIZE` points.
    """
    per_round = points // SIZE
    if per_round == 0:
        raise CannotAnswer(f"needed {SIZE} test points for a batch; got {points}")
    rng, used = torch.Generator().manual_seed(0), per_round * SIZE
    count = 1 if points == SIZE else math.ceil(most / per_round)
    rounds = [torch.randperm(points, generator=rng)[:used] for _ in range(count)]
    return torch.cat(rounds).view(-1, SIZE)[: max(most, per_round)]


def pairs(points: int, seed: int = 0) -> tuple[Int[Tensor, " pairs"], Int[Tensor, " pairs"]]:
    """Return the first and second rows of pairs of different points.

    If there are at most `MOST_PAIRS` pairs, all are returned; otherwise about that many random
    ones, in which every point occurs equally often; other seeds give other ones. Raises
    `CannotAnswer` for a single point.
    """
    if points < 2:
        raise CannotAnswer(f"needed two test points for a pair; got {points}")
    if math.comb(points, 2) <= MOST_PAIRS:
        first, second = torch.triu_indices(points, points, 1)
        return first, second
    rng = torch.Generator().manual_seed(seed)
    order = torch.randperm(points, generator=rng)
    count = max(1, MOST_PAIRS // points)
    shifts = 1 + torch.randperm((points - 1) // 2, generator=rng)[:count]
    shifted = [order.roll(int(shift)) for shift in shifts]
    return order.repeat(count), torch.cat(shifted)


SINGLE = (
    "it has one draw, from which nobody can tell how its predictions at several points depend on "
    "each other"
)


def draw_log_probs(prediction: Any, target: Tensor) -> Float64[Tensor, "draws points"]:
    r"""Return $\log p(y_n \mid x_n, \theta_s)$ for two or more draws, in nats.

    Raises `CannotAnswer` for a prediction without draws that are functions of the input: the
    product of its marginals would score another prediction.
    """
    if not isinstance(prediction, HasDrawLogProbs):
        raise CannotAnswer(f"{type(prediction).__name__} has no draws, only marginals")
    log_probs = prediction.draw_log_probs(target)
    if len(log_probs) < 2:
        raise CannotAnswer(SINGLE)
    return log_probs

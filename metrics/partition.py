"""Bins that depend on the predictions, for calibration errors."""

import numpy as np
import torch
from jaxtyping import Float64, Int
from torch import Tensor


def minimum_variance_bins(values: Float64[Tensor, " points"], bins: int) -> Int[Tensor, " points"]:
    """Return each value's interval in the partition of minimum within-interval sum of squares.

    The optimum is exact. Equal values stay together, so there are fewer intervals than `bins`
    if there are fewer distinct values; of equally good partitions, the one with the earliest cuts.
    Source: Fisher (1958), "On grouping for maximum homogeneity".
    """
    distinct, position, count = np.unique(
        values.numpy(force=True), return_inverse=True, return_counts=True
    )
    if np.isnan(distinct).any():
        return torch.zeros(len(values), dtype=torch.int64, device=values.device)
    cuts = _Segments(distinct, count).cuts(min(bins, len(distinct)))
    index = np.searchsorted(cuts, position, side="right")
    return torch.from_numpy(index).to(values.device)


class _Segments:
    """The dynamic programme over segments of sorted distinct values, with multiplicities."""

    def __init__(self, values: np.ndarray, count: np.ndarray) -> None:
        # Confidences are dense near 1. Sums of distances from 1, from the top down, stay as small
        # as their terms, so that their differences keep their digits.
        missing = 1 - values
        self.size = len(values)
        self.count, self.sum, self.square = (
            np.append(np.cumsum((count * missing**power)[::-1])[::-1], 0.0) for power in (0, 1, 2)
        )

    def cost(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """Return the sum of squares about the mean of the values start, ..., end - 1."""
        total = self.sum[start] - self.sum[end]
        squares = self.square[start] - self.square[end]
        return np.maximum(squares - total**2 / (self.count[start] - self.count[end]), 0)

    def cuts(self, segments: int) -> np.ndarray:
        """Return the starts of all segments but the first in the best partition."""
        ends = np.arange(self.size + 1)
        best = np.full(self.size + 1, np.inf)
        best[1:] = self.cost(np.zeros(self.size, int), ends[1:])
        last_cuts = []
        for used in range(1, segments):
            best, last_cut = self._with_one_more(best, used)
            last_cuts.append(last_cut)
        cuts, end = [], self.size
        for last_cut in reversed(last_cuts):
            end = last_cut[end]
            cuts.append(end)
        return np.array(cuts[::-1], dtype=int)

    def _with_one_more(self, best: np.ndarray, used: int) -> tuple[np.ndarray, np.ndarray]:
        """Return costs and last cuts of the first j values in used + 1 segments, for every j.

        The best last cut never moves back as j grows: once it is known at some ends, the ends
        between them search between its positions. All ends of one level are computed at once.
        """
        first, size = used + 1, self.size
        cost = np.full(size + 1, np.inf)
        cut = np.full(size + 1, used)
        stride = 1 << (size - first + 1).bit_length()
        while stride > 1:
            stride //= 2
            ends = np.arange(first - 1 + stride, size + 1, 2 * stride)
            lowest = np.where(ends - stride >= first, cut[ends - stride], used)
            known = np.minimum(ends + stride, size)
            highest = np.where(ends + stride <= size, cut[known], size)
            highest = np.minimum(highest, ends - 1)
            length = highest - lowest + 1
            begin = np.cumsum(length) - length
            start = np.arange(length.sum()) - np.repeat(begin - lowest, length)
            total = best[start] + self.cost(start, np.repeat(ends, length))
            least = np.minimum.reduceat(total, begin)
            attained = np.flatnonzero(total == np.repeat(least, length))
            cost[ends] = least
            cut[ends] = start[attained[np.searchsorted(attained, begin)]]
        return cost, cut


def simplex_bins(
    probs: Float64[Tensor, "points classes"], minimum_size: int
) -> Int[Tensor, " points"]:
    """Return each point's bin after cutting at medians for as long as both parts are large enough.

    A bin is cut at the median of the class whose probability varies most in it: strictly
    below it, and the rest. It is final once it has fewer than twice `minimum_size` points, or
    if a part would have fewer than `minimum_size`. Source: the public code of paper 000.
    """
    values = probs.numpy(force=True)
    index = np.zeros(len(values), dtype=np.int64)
    open_bins, final = [np.arange(len(values))], 0
    while open_bins:
        points = open_bins.pop()
        parts = _halves(values, points) if len(points) >= 2 * minimum_size else (points,)
        if min(map(len, parts)) >= minimum_size and len(parts) == 2:
            open_bins.extend(parts)
        else:
            index[points] = final
            final += 1
    return torch.from_numpy(index)


def _halves(values: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    inside = values[points]
    most_varied = inside[:, inside.var(axis=0, ddof=1).argmax()]
    below = most_varied < np.median(most_varied)
    return points[below], points[~below]

"""How firmly a first method stands on given data sets, whose splits or seeds are random."""

import functools
from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from bnnbench.reports.judge.over_sets.draws import REDRAWS, bits
from bnnbench.reports.judge.over_sets.league import SAME

FEWEST_SETS = 3
"""Minimum number of data sets for checking how the choice depends on each of them."""
FEWEST_REPLICATES = 10
"""With fewer splits or seeds of some data set, redraws of them sound surer than they are."""
DRAWS = 2_000


Scores = Sequence[Float[ndarray, "methods _"]]
"""Scores on the replicates of every data set, lower is better; the first row has the least mean."""


def first_without(sets: Scores, weights: Sequence[float]) -> dict[int, int]:
    """Return data set → the method with the least mean without it, where that is not the first.

    Empty for fewer than three sets.
    """
    if len(sets) < FEWEST_SETS:
        return {}
    means = np.array([w * of.mean(1) for w, of in zip(weights, sets, strict=True)]).T
    return dict(enumerate_others(means.sum(1, keepdims=True) - means))


def first_without_replicate(sets: Scores, weights: Sequence[float]) -> dict[tuple[int, int], int]:
    """Return data set and replicate → the method with the least mean without it, if another."""
    total = sum(w * of.mean(1) for w, of in zip(weights, sets, strict=True))
    others = {}
    for g, (w, of) in enumerate(zip(weights, sets, strict=True)):
        count = of.shape[1]
        without = (of.sum(1, keepdims=True) - of) / max(count - 1, 1)
        means = np.asarray(total - w * of.mean(1))[:, None] + w * without
        others |= {(g, k): m for k, m in enumerate_others(means)}
    return others


def enumerate_others(means: Float[ndarray, "methods cases"]) -> Iterator[tuple[int, int]]:
    """Yield each case in which another than the first row has the least mean, and that row."""
    for case in np.flatnonzero(means.min(0) < means[0] - SAME):
        yield int(case), int(means[:, case].argmin())


def share_first(sets: Scores, weights: Sequence[float]) -> float | None:
    """Return the share of redraws of splits, or seeds, in which the first row has the least mean.

    They are drawn with replacement within every data set, in pairs over the methods. None with
    fewer than ten replicates.
    """
    sizes = [of.shape[1] for of in sets]
    if min(sizes) < FEWEST_REPLICATES:
        return None
    drawn = redraws_within(tuple(sizes), DRAWS)
    parts = [w * (of @ k.T) / n for w, of, k, n in zip(weights, sets, drawn, sizes, strict=True)]
    totals = np.sum(parts, axis=0)
    return float(np.mean(totals[0] <= totals.min(0) + SAME))


@functools.lru_cache(maxsize=64)
def redraws_within(sizes: tuple[int, ...], draws: int) -> list[Int[ndarray, "draws _"]]:
    """Return, for each data set, how often each of its replicates is drawn in each redraw."""
    total, start, counts = sum(sizes), 0, []
    for size in sizes:
        index = total * np.arange(draws)[:, None] + start + np.arange(size)
        drawn = (bits(REDRAWS, index) * float(size) / 2.0**32).astype(int)
        counts.append(np.stack([np.bincount(of, minlength=size) for of in drawn]))
        start += size
    return counts

"""The examples on which two methods differ most, and each method's worst predictions.

Examples are ordered by fold, then by row; in a tie, the first counts.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from bnnbench.reports.pages.examples.predicted import Predicted

MOST_DIFFERENT = 12
MOST_WORST = 6
"""Number of examples in a list."""

BINS = 36
"""Number of bins of each log score in the joint histogram."""

LOWEST = 0.05
"""Share of log scores that the histogram collects at its lower edge."""

Look = Callable[[int], Hashable]
"""Function from an example to what a reader sees; a list shows equal inputs once."""


@dataclass(frozen=True)
class Pair:
    """The examples of two methods' common folds."""

    counts: tuple[int, int, int, int]
    """Number of examples with both right, only the first, only the second, neither; for real
    targets: with equal log scores, a higher one of the first, a higher one of the second, and 0."""
    parted: int
    """Number of examples with different predicted classes; 0 for real targets."""
    means: tuple[float, float]
    """The mean log score of each method."""
    distances: Float[ndarray, " examples"]
    different: tuple[int, ...]
    """Examples in descending order of their distance."""
    worst: tuple[tuple[int, ...], tuple[int, ...]]
    """Examples of each method in ascending order of its log score."""


def compared(first: Predicted, second: Predicted, look: Look) -> Pair:
    """Return the examples on which two methods differ, and each method's worst predictions.

    The distance on an example is the total variation of the two predictive distributions over
    classes, ½ Σ |p - q|; for real targets, it is the difference of their log scores.
    """
    if first.kind == "classes":
        distances = total_variation(first.answers, second.answers)
        right, other = is_right(first), is_right(second)
        counts = (right & other, right & ~other, ~right & other, ~right & ~other)
        parted = int((first.answers.argmax(1) != second.answers.argmax(1)).sum())
    else:
        gap = difference(first.scores, second.scores)
        distances, parted = np.abs(gap), 0
        counts = (gap == 0, gap > 0, gap < 0, np.zeros(0))
    both, one, two, none = (int(held.sum()) for held in counts)
    return Pair(
        (both, one, two, none),
        parted,
        (float(first.scores.mean()), float(second.scores.mean())),
        distances,
        tuple(i for i in foremost(distances, MOST_DIFFERENT, look) if distances[i] > 0),
        (
            tuple(foremost(-first.scores, MOST_WORST, look)),
            tuple(foremost(-second.scores, MOST_WORST, look)),
        ),
    )


def total_variation(
    first: Float[ndarray, "examples classes"], second: Float[ndarray, "examples classes"]
) -> Float[ndarray, " examples"]:
    """Return ½ Σ |p - q| over the classes: the maximum difference on any event."""
    return np.abs(first - second).sum(1) / 2


def difference(
    first: Float[ndarray, " examples"], second: Float[ndarray, " examples"]
) -> Float[ndarray, " examples"]:
    """Return first - second, 0 where both are the same infinity."""
    with np.errstate(invalid="ignore"):
        return np.where(first == second, 0.0, first - second)


def is_right(one: Predicted) -> Bool[ndarray, " examples"]:
    """Return whether the most probable class (in a tie, the first) is the target."""
    return one.answers.argmax(1) == one.targets


def foremost(values: Float[ndarray, " examples"], most: int, look: Look) -> list[int]:
    """Return the examples with the largest values, in descending order, without repeated sights."""
    seen: set[Hashable] = set()
    chosen: list[int] = []
    for i in np.argsort(-values, kind="stable"):
        if len(chosen) == most:
            break
        if (sight := look(int(i))) not in seen:
            seen.add(sight)
            chosen.append(int(i))
    return chosen


def axis(scores: Sequence[Float[ndarray, " examples"]]) -> tuple[float, float]:
    """Return the ends of an axis of log scores, at whose edge the lowest ones are collected."""
    every = np.concatenate(list(scores))
    every = every[np.isfinite(every)]
    if not len(every):
        return -1.0, 0.0
    low, high = float(np.quantile(every, LOWEST)), float(every.max())
    return (low, high) if high > low else (high - 1.0, high)


def bins(
    scores: Float[ndarray, " examples"], ends: tuple[float, float]
) -> Int[ndarray, " examples"]:
    """Return the bin of each log score on an axis; scores beyond an end are in its last bin."""
    low, high = ends
    with np.errstate(invalid="ignore"):
        place = np.floor((scores - low) / (high - low) * BINS)
    return np.clip(place, 0, BINS - 1).astype(int)


def cells(
    first: Int[ndarray, " examples"], second: Int[ndarray, " examples"]
) -> list[tuple[int, int]]:
    """Return cell number and count of examples: the first method in columns, the second in rows."""
    numbers, counts = np.unique(second * BINS + first, return_counts=True)
    return list(zip(numbers.tolist(), counts.tolist(), strict=True))

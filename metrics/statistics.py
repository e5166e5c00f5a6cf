"""Summaries of values over runs, and significance tests shared by several parts of reports."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy import stats

EXACT_WILCOXON = 25
"""Maximum number of differences for which the signed rank distribution is enumerated."""


Samples = Mapping[tuple[int, int], float]
"""(fold, seed) → value"""


class Significance(NamedTuple):
    """A test statistic and its two-sided p value."""

    statistic: float
    p_value: float


@dataclass(frozen=True)
class Summary:
    """Mean, standard deviation (n - 1) and standard error.

    The latter two are NaN for a single value, and if a value is not finite.
    """

    mean: float
    std: float
    standard_error: float
    count: int


def replicates(samples: Samples, by_fold: bool) -> list[float]:
    """Return the independent values behind a mean.

    Seeds of one fold share its rows, so with several folds each fold counts by its mean over seeds.
    """
    if not by_fold:
        return list(samples.values())
    folds: dict[int, list[float]] = defaultdict(list)
    for (fold, _), value in samples.items():
        folds[fold].append(value)
    return [mean(values) for values in folds.values()]


def mean(values: Sequence[float]) -> float:
    """Return the mean; infinite or NaN if a value is."""
    return sum(values) / len(values)


def summary(values: Float[ndarray, " splits"]) -> Summary:
    """Return the summary of values over splits or seeds, or of their paired differences."""
    spreads = len(values) > 1 and np.isfinite(values).all()
    with np.errstate(over="ignore"):  # for values near the largest number, the spread is infinite
        std = float(values.std(ddof=1)) if spreads else math.nan
        return Summary(float(values.mean()), std, std / math.sqrt(len(values)), len(values))


def wilcoxon(differences: Float[ndarray, " pairs"]) -> Significance:
    """Return the result of the signed rank test: zeros are dropped, ties share their average rank.

    Exact up to 25 differences without ties, otherwise by the normal approximation, without
    continuity correction. Across data sets (one difference each) the test is valid; over splits of
    one set it suffers from their overlap as Student's test does.
    Source: Wilcoxon (1945), "Individual comparisons by ranking methods".
    """
    nonzero = differences[differences != 0]
    count = len(nonzero)
    if count == 0:
        return Significance(0.0, 1.0)
    distinct = count <= EXACT_WILCOXON and len(np.unique(np.abs(nonzero))) == count
    method = "exact" if distinct else "asymptotic"
    result: Any = stats.wilcoxon(nonzero, correction=False, method=method)
    return Significance(float(result.statistic), float(result.pvalue))


def holm(p_values: Float[ndarray, "*columns tests"]) -> Float[ndarray, "*columns tests"]:
    """Return p values adjusted for all tests of a column, in the given order.

    NaN stands for an omitted test, and stays. Source: Holm (1979), "A simple sequentially rejective
    multiple test procedure".
    """
    order = np.argsort(p_values, axis=-1, kind="stable")  # NaN values come last
    remaining = (~np.isnan(p_values)).sum(-1, keepdims=True) - np.arange(p_values.shape[-1])
    scaled = np.minimum(1, remaining * np.take_along_axis(p_values, order, -1))
    adjusted = np.empty_like(p_values)
    np.put_along_axis(adjusted, order, np.maximum.accumulate(scaled, -1), -1)
    return adjusted

"""Method ranks by two scores of the same rows, with bootstrap intervals over the rows."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from scipy.stats import rankdata

RESAMPLES, INTERVAL = 1000, (2.5, 97.5)

Scores = Mapping[str, Float[ndarray, " rows"]]


@dataclass(frozen=True)
class Place:
    """A rank (1 is best) and the ends of its 95 % interval."""

    rank: float
    low: float
    high: float


@dataclass(frozen=True)
class Agreement:
    """Ranks by two scores, with their Spearman correlation and its interval."""

    first: Mapping[str, Place]
    second: Mapping[str, Place]
    rho: Place


def agreement(first: Scores, second: Scores) -> Agreement:
    """Return how far two rankings agree; for both scores, lower is better.

    Test rows are resampled, the same for all methods and both scores. Raises ValueError for fewer
    than three methods.
    """
    methods = [method for method in first if method in second]
    if len(methods) < 3:
        raise ValueError(f"needed three methods or more to correlate ranks; got {len(methods)}")
    tables = [np.stack([scores[m] for m in methods]) for scores in (first, second)]
    rows = tables[0].shape[1]
    chosen = np.random.default_rng(0).integers(rows, size=(RESAMPLES, rows))
    observed = [rankdata(table.mean(1)) for table in tables]
    drawn = [rankdata(table[:, chosen].mean(2), axis=0) for table in tables]
    rhos = [_correlation(a, b) for a, b in zip(*(ranks.T for ranks in drawn), strict=True)]
    places = [
        {m: _place(rank[i], ranks[i]) for i, m in enumerate(methods)}
        for rank, ranks in zip(observed, drawn, strict=True)
    ]
    return Agreement(places[0], places[1], _place(_correlation(*observed), np.array(rhos)))


def _place(value: float, drawn: Float[ndarray, " resamples"]) -> Place:
    low, high = np.percentile(drawn, INTERVAL)
    return Place(float(value), float(low), float(high))


def _correlation(a: Float[ndarray, " methods"], b: Float[ndarray, " methods"]) -> float:
    return float(np.corrcoef(a, b)[0, 1])

"""The decision on methods over several data sets at once.

The question is which methods are best on these data sets, each with its weight: splits or seeds
are random, the data sets are fixed. Test conditions of the same fits, such as the angles of
rotated digits, are not independent and are averaged before any comparison.
"""

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from bnnbench.metrics.statistics import Samples, replicates
from bnnbench.reports.judge.contest import Tested
from bnnbench.reports.judge.decision import NOT_COMPARED, Decision, Standing, standings_of
from bnnbench.reports.judge.participants import (
    FEWEST,
    Exclusion,
    Participants,
    Run,
    participants,
)
from bnnbench.reports.judge.statistics.elimination import Errors
from bnnbench.reports.judge.statistics.moderation import differences, level


@dataclass(frozen=True)
class Fits:
    """The scores of fits on one data set, averaged over the conditions that count."""

    samples: Mapping[str, Samples]
    """method → run → score; lower is better"""
    asked: Set[Run]
    """The runs requested of any method."""
    by_fold: bool
    overlap: float
    """Factor by which shared rows widen errors over splits (`overlap_of`)."""
    weight: float
    """This data set's share of the total; all shares sum to 1."""
    source: str | None = None
    """Data sets with equal texts draw training sets from the same rows; None: separate rows."""
    rows: int = 0
    """The rows of each training set, if the data set's training sets are disjoint; else 0."""

    def share(self, replicates: int) -> float:
        """Return the squared error of the weighted mean over replicates, for a variance of 1."""
        overlap = self.overlap if self.by_fold else 0.0
        return self.weight**2 * (1 / replicates + overlap)


@dataclass(frozen=True)
class Standings:
    """The standing of every method over several data sets, and the errors of all differences."""

    decision: Decision
    names: tuple[str, ...] = ()
    """The first method of every candidate, in the order of `errors`."""
    errors: Errors | None = None
    """The weighted mean difference of each candidate from each other candidate; None if nothing was
    tested."""
    means: Mapping[str, float] = field(default_factory=dict)
    """method → weighted mean of its scores over the common runs; lower is better"""


def decide_over(
    sets: Sequence[Fits], barred: Mapping[str, Exclusion], margin: float | None
) -> Standings:
    r"""Return the decision on the methods that every data set has.

    With weight w, variance V of one run's difference and n replicates of each data set g,

    $$ d = \sum_g w_g \bar d_g, \quad \mathrm{se}_g^2 = w_g^2 V_g (1/n_g + r_g), $$

    and the errors of `together`. V and its degrees of freedom are computed as for a single table
    (`moderation.differences`), and so are elimination and practical equality.
    """
    methods = [m for m in sets[0].samples if all(m in fits.samples for fits in sets)]
    chosen, left_out = _participants(sets, methods, barred)
    standings = {m: NOT_COMPARED for m in methods}
    standings |= {m: Standing("not eligible", why) for m, why in left_out.items()}
    names = chosen[0].methods
    if not names:
        return Standings(Decision(standings))
    scores = [_scores(fits, of.methods, of.common) for fits, of in zip(sets, chosen, strict=True)]
    groups = _candidates(names, sets, chosen)
    rows = [names.index(group[0]) for group in groups]
    weights = [fits.weight for fits in sets]
    means = np.sum([w * of.mean(1) for w, of in zip(weights, scores, strict=True)], axis=0)
    leading = [k for k, row in enumerate(rows) if means[row] == means[rows].min()]
    counts = [of.shape[1] for of in scores]
    common = {
        "leaders": tuple(name for k in leading for name in groups[k]),
        "candidates": groups,
        "runs": min(len(of.common) for of in chosen),
        "replicates": min(counts),
        "most_replicates": max(counts),
    }
    firsts = tuple(group[0] for group in groups)
    by_name = {name: float(mean) for name, mean in zip(names, means, strict=True)}
    if len(groups) == 1 or min(counts) < FEWEST:
        untested = "" if len(groups) == 1 else f"fewer than {FEWEST} replicates"
        return Standings(Decision(standings, untested=untested, **common), firsts, means=by_name)
    errors = _pooled(sets, [of[rows] for of in scores])
    at = min(level(len(groups), n) for n in counts)
    tested = Tested(errors, "new splits" if sets[0].by_fold else "new seeds", at)
    of_groups = standings_of(tested, leading, margin, firsts)
    standings |= {
        name: standing for group, standing in zip(groups, of_groups, strict=True) for name in group
    }
    decision = Decision(standings, question=tested.question, level=at, margin=margin, **common)
    return Standings(decision, firsts, errors, by_name)


def _participants(
    sets: Sequence[Fits], methods: Sequence[str], barred: Mapping[str, Exclusion]
) -> tuple[list[Participants], dict[str, Exclusion]]:
    """Return the participants of every data set, the same methods on each, and the exclusions."""
    left_out = {m: barred[m] for m in methods if m in barred}
    while True:
        chosen = [
            participants(
                {m: fits.samples[m] for m in methods if m not in left_out},
                {},
                fits.asked,
                fits.by_fold,
            )
            for fits in sets
        ]
        new = {m: why for of in chosen for m, why in of.left_out.items()}
        if not new:
            return chosen, left_out
        left_out |= new


def _scores(
    fits: Fits, methods: Sequence[str], common: Sequence[Run]
) -> Float[ndarray, "methods replicates"]:
    """Return the scores on the common runs; seeds of a fold are averaged."""
    return np.array(
        [replicates({run: fits.samples[m][run] for run in common}, fits.by_fold) for m in methods]
    )


def _candidates(
    methods: Sequence[str], sets: Sequence[Fits], chosen: Sequence[Participants]
) -> tuple[tuple[str, ...], ...]:
    """Return the methods in groups of equal scores on every common run of every data set."""
    alike: dict[tuple[float, ...], list[str]] = {}
    for name in methods:
        values = tuple(
            fits.samples[name][run]
            for fits, of in zip(sets, chosen, strict=True)
            for run in of.common
        )
        alike.setdefault(values, []).append(name)
    return tuple(map(tuple, alike.values()))


def _pooled(sets: Sequence[Fits], scores: Sequence[Float[ndarray, "methods replicates"]]) -> Errors:
    """Return the weighted mean differences of all pairs, with squared errors and freedom."""
    count = len(scores[0])
    mean, squared, freedom = np.zeros((count, count)), [], []
    for fits, of in zip(sets, scores, strict=True):
        pairwise = differences(of)
        mean += fits.weight * pairwise.mean
        squared.append(pairwise.variance * fits.share(of.shape[1]))
        freedom.append(pairwise.freedom)
    return Errors(mean, *together(sets, [of.shape[1] for of in scores], squared, freedom))


def together(
    sets: Sequence[Fits],
    replicates: Sequence[int],
    squared: Sequence[Float[ndarray, "*_"]],
    freedom: Sequence[Any],
) -> tuple[Float[ndarray, "*_"], Float[ndarray, "*_"]]:
    r"""Return the squared error of a sum over data sets and Satterthwaite's degrees of freedom.

    Different sources c are independent. Data sets of one source are correlated: the error assumes
    the largest possible correlations (`largest_correlation`) and the minimum degrees of freedom:

    $$ \mathrm{se}^2 = \sum_c s_c^2, \quad
       s_c^2 = \sum_{g, h \in c} \rho_{gh} \, \mathrm{se}_g \, \mathrm{se}_h, \quad
       \nu = \mathrm{se}^4 \Big/ \sum_c \frac{s_c^4}{\min_{g \in c} \nu_g}. $$
    """
    groups: dict[object, list[int]] = {}
    for g, fits in enumerate(sets):
        groups.setdefault(g if fits.source is None else fits.source, []).append(g)
    rows = [fits.rows * count for fits, count in zip(sets, replicates, strict=True)]
    stds = [np.sqrt(of) for of in squared]
    bounds = [
        np.sum(
            [largest_correlation(rows[g], rows[h]) * stds[g] * stds[h] for g in of for h in of], 0
        )
        for of in groups.values()
    ]
    least = [np.min([freedom[g] for g in group], axis=0) for group in groups.values()]
    error = np.sum(bounds, axis=0)
    parts = np.sum([bound**2 / of for bound, of in zip(bounds, least, strict=True)], axis=0)
    total = np.ones_like(error)
    np.divide(error**2, parts, out=total, where=parts > 0)
    return error, total


def largest_correlation(one: int, other: int) -> float:
    r"""Return the largest correlation of two means over disjoint training sets of one source.

    The means use n and N ≥ n rows in all, 0 if unknown. The correlation is $\sqrt{n/N}$: symmetric
    functions of n and of N independent rows, k of them common, have a correlation of at most
    $k / \sqrt{nN}$, and so have sums over disjoint sets of equal size.

    Source: Hoeffding (1948), "A class of statistics with asymptotically normal distribution",
    by the decomposition of section 5; Dembo, Kagan and Shepp (2001), "Remarks on the maximum
    correlation coefficient", for sums.
    """
    fewer, more = sorted((one, other))
    return math.sqrt(fewer / more) if fewer else 1.0

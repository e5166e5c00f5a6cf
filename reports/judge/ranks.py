"""Methods ranked over data sets: who is ahead, and who cannot be told apart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bnnbench.metrics.statistics import Significance
from bnnbench.reports.judge import friedman as over_sets
from bnnbench.reports.judge.bootstrap import (
    Intervals,
    Nested,
    mean_rank_intervals,
    standardised_difference_intervals,
)
from bnnbench.reports.judge.measures import Judged, judged
from bnnbench.reports.judge.paired import LEVEL
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.success import successes
from bnnbench.reports.style import labels
from bnnbench.reports.style.words import joined, quoted
from bnnbench.suites.engine.declare.description import canonical_json

FEWEST_SETS = 4
"""On fewer data sets only the paired comparisons on each are shown."""


@dataclass(frozen=True)
class Place:
    """A method's mean rank over data sets, 1 being best, with a bootstrap interval."""

    method: str
    rank: float
    low: float
    high: float
    behind: float
    """How much worse than the first, in standard deviations between runs; the mean over sets.
    NaN where the method failed on a set."""
    behind_low: float
    behind_high: float
    p_value: float
    """That its mean rank is that of the first, adjusted over all pairs; the first has 1."""
    failed_on: tuple[str, ...]
    """Data sets on which it completed less than half of its runs, and was ranked last."""

    @property
    def worse(self) -> bool:
        """Whether it is significantly worse than the first."""
        return self.p_value <= LEVEL


@dataclass(frozen=True)
class Ranks:
    """Methods ranked by one metric, and what tests over the data sets say of them."""

    metric: str
    name: str
    places: tuple[Place, ...]
    """From the best mean rank to the worst."""
    sets: tuple[str, ...]
    friedman: Significance
    iman_davenport: Significance
    bars: tuple[tuple[int, ...], ...]
    """Neighbouring places of which no two differ significantly (`rank_p_values`)."""
    least_p_value: float
    """The least adjusted p-value that so few data sets may give."""
    critical_difference: float
    """Nemenyi's, of mean ranks; the bars do not use it."""
    left_out: Mapping[str, str]
    """method or data set → why it is not ranked"""

    @property
    def can_tell(self) -> bool:
        """Whether enough data sets are there for any two methods to differ significantly."""
        return self.least_p_value <= LEVEL

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know of it, in sentences."""
        count, sets = len(self.places), len(self.sets)
        rejected = self.iman_davenport.p_value <= LEVEL
        found = [
            f"That all {count} methods are equal is {'' if rejected else 'not '}rejected over the "
            f"{sets} data sets (Friedman χ² = {self.friedman.statistic:.3g}, "
            f"{_p(self.friedman.p_value)}; Iman and Davenport F = "
            f"{self.iman_davenport.statistic:.3g}, {_p(self.iman_davenport.p_value)})."
        ]
        if not self.can_tell:
            found.append(
                f"{sets} data sets are too few to tell any two methods apart by their ranks: the "
                f"least that may come out is {_p(self.least_p_value)}. The bar therefore joins all."
            )
        found.append(
            f"Nemenyi's critical difference would be {self.critical_difference:.2f}; it holds "
            "only if all methods are equal, and no bar uses it."
        )
        reasons: dict[str, list[str]] = {}
        for what, why in self.left_out.items():
            reasons.setdefault(why, []).append(quoted(what))
        for why, names in reasons.items():
            verb = "is" if len(names) == 1 else "are"
            found.append(f"{labels.sentence(joined(names))} {verb} left out: {why}.")
        return tuple(found)


def ranks(benchmarks: Sequence[Benchmark], metric: str) -> Ranks | None:
    """Return the ranking over data sets; None where there are fewer than four, or one method.

    On every data set methods are compared by their means over the folds and seeds that all of
    them completed. A method that completed less than half of its runs on a set is ranked last
    there: a fit that fails is worse than any that succeeds. Where a method was not run or not
    scored, the method or the data set is left out (`complete_block`) and named.
    """
    found = [j for b in benchmarks if (j := judged(b, metric)) and j.means]
    if len({_data(j.benchmark) for j in found}) < len(found) or len(found) < FEWEST_SETS:
        return None
    methods = list(dict.fromkeys(m for j in found for m in j.benchmark.runs))
    failed = np.array([[_failed(j, m) for m in methods] for j in found])
    scored = np.array([[m in j.means for m in methods] for j in found]) & ~failed
    kept, columns = over_sets.complete_block(scored | failed)
    nested = {s: _nested(found[s], [methods[m] for m in columns], failed[s, columns]) for s in kept}
    usable = [s for s in kept if nested[s] is not None]
    left_out = {
        methods[m]: _lacks(methods[m], found) for m in set(range(len(methods))) - {*columns}
    }
    names = [j.benchmark.title for j in found]
    for s in range(len(found)):
        if s not in usable:
            why = (
                "no fold and seed was completed by all methods"
                if s in kept
                else ("not all methods that are ranked have scores on it")
            )
            left_out[names[s]] = why
    if len(usable) < FEWEST_SETS or len(columns) < 2:
        return None
    blocks = [block for s in usable if (block := nested[s]) is not None]
    means = np.stack([block.means for block in blocks])
    ranking = over_sets.ranking(means, higher_is_better=False)
    adjusted = over_sets.rank_p_values(means, higher_is_better=False)
    order = np.argsort(ranking.mean_ranks, kind="stable")
    return Ranks(
        metric,
        found[0].name,
        _places(
            [methods[columns[m]] for m in order],
            order,
            mean_rank_intervals(blocks),
            standardised_difference_intervals(blocks, int(order[0])),
            adjusted[order[0]],
            [tuple(names[s] for s in usable if failed[s, columns[m]]) for m in order],
        ),
        tuple(names[s] for s in usable),
        ranking.friedman,
        ranking.iman_davenport,
        _bars(ranking.mean_ranks, adjusted <= LEVEL, order),
        over_sets.least_p_value(len(usable)),
        over_sets.critical_difference(len(columns), len(usable)),
        left_out,
    )


def _places(
    methods: Sequence[str],
    order: np.ndarray,
    rank: Intervals,
    behind: Intervals,
    p_values: np.ndarray,
    failed_on: Sequence[tuple[str, ...]],
) -> tuple[Place, ...]:
    return tuple(
        Place(
            method,
            rank=float(rank.mean[m]),
            low=float(rank.low[m]),
            high=float(rank.high[m]),
            behind=float(behind.mean[m]),
            behind_low=float(behind.low[m]),
            behind_high=float(behind.high[m]),
            p_value=float(p_values[m]),
            failed_on=failures,
        )
        for method, m, failures in zip(methods, order, failed_on, strict=True)
    )


def _bars(
    mean_ranks: np.ndarray, different: np.ndarray, order: np.ndarray
) -> tuple[tuple[int, ...], ...]:
    place = {int(method): k for k, method in enumerate(order)}
    bars = over_sets.undivided(mean_ranks, different)
    return tuple(tuple(place[method] for method in bar) for bar in bars)


def _data(benchmark: Benchmark) -> str:
    """Return what data sets share that are cases of the same data, which count as one."""
    facts = benchmark.records[0].facts
    return canonical_json(facts.get("sha256") or benchmark.records[0].run.get("source"))


def _failed(of: Judged, method: str) -> bool:
    """Return whether most runs diverged or failed, or scores are no number."""
    ended = successes(of.benchmark, (method,))[method]
    if 2 * (ended.diverged + ended.failed) > ended.asked:
        return True
    sign = -1 if of.column.higher_is_better else 1
    return any(not sign * value < np.inf for value in of.samples.get(method, {}).values())


def _nested(of: Judged, methods: Sequence[str], failed: np.ndarray) -> Nested | None:
    """Return the scores with lower ones better, None where no run is common to all."""
    alive = [of.samples[m] for m, gone in zip(methods, failed, strict=True) if not gone]
    common = sorted(set.intersection(*(set(own) for own in alive))) if alive else []
    if not common:
        return None
    folds, seeds = (sorted({pair[axis] for pair in common}) for axis in (0, 1))
    scores = np.full((len(methods), len(folds), len(seeds)), np.inf)
    present = np.zeros((len(folds), len(seeds)), bool)
    sign = -1 if of.column.higher_is_better else 1
    for fold, seed in common:
        at = folds.index(fold), seeds.index(seed)
        present[at] = True
        for k, method in enumerate(methods):
            if not failed[k]:
                scores[k][at] = sign * of.samples[method][fold, seed]
    return Nested(scores, present)


def _lacks(method: str, found: Sequence[Judged]) -> str:
    lacking = sum(method not in j.means for j in found)
    return f"no scores on {lacking} of {len(found)} data sets"


def _p(value: float) -> str:
    return f"p = {value:.2g}" if value >= 1e-4 else "p < 0.0001"

"""Methods ranked over data sets, with tests of the differences between ranks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bnnbench.engine.declare.description import canonical_json
from bnnbench.metrics.statistics import Significance
from bnnbench.reports.judge.measures import Judged, judged
from bnnbench.reports.judge.statistics import friedman as over_sets
from bnnbench.reports.judge.statistics.bootstrap import (
    Intervals,
    Nested,
    mean_rank_intervals,
    standardised_difference_intervals,
)
from bnnbench.reports.judge.statistics.moderation import LEVEL
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.exclusions import is_constant
from bnnbench.reports.read.success import successes
from bnnbench.reports.style import labels
from bnnbench.reports.style.words import joined, quoted

FEWEST_SETS = 4
"""With fewer data sets, only the paired comparisons on each are shown."""


@dataclass(frozen=True)
class Place:
    """A method's mean rank over data sets (1 is best), with a bootstrap interval."""

    method: str
    rank: float
    low: float
    high: float
    behind: float
    """The distance from the first, in standard deviations between runs, averaged over sets; NaN if
    the method failed on a set."""
    behind_low: float
    behind_high: float
    p_value: float
    """The p-value of equal mean ranks with the first, adjusted over all pairs; 1 for the first."""
    failed_on: tuple[str, ...]
    """Data sets on which it completed fewer than half of its runs, and was ranked last."""

    @property
    def worse(self) -> bool:
        """True if it ranks worse than the first."""
        return self.p_value <= LEVEL


@dataclass(frozen=True)
class Ranks:
    """Methods ranked by one metric, with tests over the data sets."""

    metric: str
    name: str
    places: tuple[Place, ...]
    """The methods, from the best mean rank to the worst."""
    sets: tuple[str, ...]
    friedman: Significance
    iman_davenport: Significance
    bars: tuple[tuple[int, ...], ...]
    """Groups of neighbouring places without a significant difference (`rank_p_values`)."""
    least_p_value: float
    """The smallest adjusted p-value possible with this number of data sets."""
    critical_difference: float
    """Nemenyi's critical difference of mean ranks; the bars do not use it."""
    left_out: Mapping[str, str]
    """method or data set → the reason why it is not ranked"""

    @property
    def can_tell(self) -> bool:
        """True if there are enough data sets to separate two methods."""
        return self.least_p_value <= LEVEL

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences below the diagram."""
        count, sets = len(self.places), len(self.sets)
        rejected = self.iman_davenport.p_value <= LEVEL
        sentences = [
            f"The hypothesis that all {count} methods are equal is {'' if rejected else 'not '}"
            f"rejected over the {sets} data sets (Friedman χ² = {self.friedman.statistic:.3g}, "
            f"{_p(self.friedman.p_value)}; Iman and Davenport F = "
            f"{self.iman_davenport.statistic:.3g}, {_p(self.iman_davenport.p_value)})."
        ]
        if not self.can_tell:
            sentences.append(
                f"{sets} data sets are too few to tell any two methods apart by their ranks: even "
                f"the clearest result would have {_p(self.least_p_value)}. The bar therefore joins "
                "all methods."
            )
        sentences.append(
            f"Nemenyi's critical difference would be {self.critical_difference:.2f}. It is valid "
            "only if all methods are equal, so the bars do not use it."
        )
        reasons: dict[str, list[str]] = {}
        for name, why in self.left_out.items():
            reasons.setdefault(why, []).append(quoted(name))
        for why, names in reasons.items():
            verb = "is" if len(names) == 1 else "are"
            sentences.append(f"{labels.sentence(joined(names))} {verb} left out: {why}.")
        return tuple(sentences)


def ranks(benchmarks: Sequence[Benchmark], metric: str) -> Ranks | None:
    """Return the ranking over data sets; None for fewer than four data sets, or only one method.

    On every data set, methods are compared by their means over the folds and seeds that all of
    them completed. A method that completed fewer than half of its runs on a set is ranked last
    there: a failed fit is worse than any successful one. If a method was not run or not scored on a
    set, the method or the set is left out (`complete_block`) and named.
    """
    results = [j for b in benchmarks if (j := judged(b, metric)) and j.cells]
    if len({_data(j.benchmark) for j in results}) < len(results) or len(results) < FEWEST_SETS:
        return None
    runs_of = {m: runs for j in results for m, runs in j.benchmark.runs.items()}
    methods = [m for m, runs in runs_of.items() if not is_constant(runs)]
    failed = np.array([[_failed(j, m) for m in methods] for j in results])
    scored = np.array([[m in j.cells for m in methods] for j in results]) & ~failed
    rows, columns = over_sets.complete_block(scored | failed)
    nested = {
        s: _nested(results[s], [methods[m] for m in columns], failed[s, columns]) for s in rows
    }
    usable = [s for s in rows if nested[s] is not None]
    left_out = {m: "its prediction is a constant" for m in runs_of if m not in methods}
    left_out |= {
        methods[m]: _lacks(methods[m], results) for m in set(range(len(methods))) - {*columns}
    }
    names = [j.benchmark.title for j in results]
    for s in range(len(results)):
        if s not in usable:
            why = (
                "no fold and seed was completed by all methods"
                if s in rows
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
        results[0].name,
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
    """Return an identity of the underlying data; cases with the same data count as one set."""
    facts = benchmark.records[0].circumstances.facts
    return canonical_json(facts.get("sha256") or benchmark.records[0].run.get("source"))


def _failed(result: Judged, method: str) -> bool:
    """Return whether most runs diverged or failed, or a score is not finite."""
    ended = successes(result.benchmark, (method,))[method]
    if 2 * (ended.diverged + ended.failed) > ended.asked:
        return True
    sign = -1 if result.column.higher_is_better else 1
    return any(not sign * value < np.inf for value in result.samples.get(method, {}).values())


def _nested(result: Judged, methods: Sequence[str], failed: np.ndarray) -> Nested | None:
    """Return the scores, lower is better; None if no run is common to all methods."""
    alive = [result.samples[m] for m, gone in zip(methods, failed, strict=True) if not gone]
    common = sorted(set.intersection(*(set(samples) for samples in alive))) if alive else []
    if not common:
        return None
    folds, seeds = (sorted({pair[axis] for pair in common}) for axis in (0, 1))
    scores = np.full((len(methods), len(folds), len(seeds)), np.inf)
    present = np.zeros((len(folds), len(seeds)), bool)
    sign = -1 if result.column.higher_is_better else 1
    for fold, seed in common:
        at = folds.index(fold), seeds.index(seed)
        present[at] = True
        for k, method in enumerate(methods):
            if not failed[k]:
                scores[k][at] = sign * result.samples[method][fold, seed]
    return Nested(scores, present)


def _lacks(method: str, results: Sequence[Judged]) -> str:
    lacking = sum(method not in j.cells for j in results)
    return f"no scores on {lacking} of {len(results)} data sets"


def _p(value: float) -> str:
    return f"p = {value:.2g}" if value >= 1e-4 else "p < 0.0001"

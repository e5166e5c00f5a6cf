"""The methods in order, for a question, the selected data sets and a time limit.

`templates/scripts/ranking.js` has the same definitions; a browser test compares the two.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bnnbench.metrics.statistics import Samples, replicates
from bnnbench.reports.judge.decision import Decision, Standing, State
from bnnbench.reports.judge.participants import Exclusion
from bnnbench.reports.judge.pooled import (
    Fits,
    Standings,
    decide_over,
    together,
)
from bnnbench.reports.judge.statistics.elimination import limits_behind_best, one_sided
from bnnbench.reports.judge.statistics.moderation import LEVEL
from bnnbench.reports.pages.site.below import failed_on
from bnnbench.reports.pages.site.tasks import ByRun, Column, Scale, Task
from bnnbench.reports.style.families import PLAIN, networks_among


@dataclass(frozen=True)
class Row:
    """A method's place, and its distance from the first in the unit of the scale."""

    method: str
    standing: Standing
    margin: float | None = None
    """None if it is not compared."""
    low: float | None = None
    high: float | None = None
    """Limits of the distance behind the best, by the steps of the elimination: the method is worse
    exactly if the lower one is above 0 (`limits_behind_best`). None for the first."""
    seconds: float | None = None
    """Mean seconds of a fit."""
    fails: tuple[str, ...] = ()
    """Titles of the data sets on which it is clearly worse than a constant prediction."""

    @property
    def state(self) -> State | Literal["fails"]:
        """The state, in which a method that fails somewhere is not called undecided."""
        return "fails" if self.fails and self.standing.state == "undecided" else self.standing.state


@dataclass(frozen=True)
class Ranking:
    """The methods, the best mean first; methods that are not compared come last."""

    task: Task
    scale: Scale
    columns: tuple[Column, ...]
    """The selected columns."""
    rows: tuple[Row, ...]
    standings: Standings
    missing: Mapping[str, tuple[str, ...]]
    """Method that is not ranked → titles of the selected columns that it lacks."""
    replicates: int = 0

    @property
    def compared(self) -> list[Row]:
        """The compared methods."""
        return [row for row in self.rows if row.margin is not None]

    def of(self, state: str) -> list[str]:
        """Return the compared methods in a state, the best mean first."""
        return [row.method for row in self.compared if row.state == state]


def ranked(
    task: Task,
    criterion: str,
    columns: Sequence[str] | None = None,
    budget: float | None = None,
    networks: bool = False,
) -> Ranking:
    """Return the ranking by a criterion over some columns, by default all.

    `budget` is the maximum fit time, as a multiple of the plain network's. With `networks`, other
    methods take no part, unless there are no networks.
    """
    scale = task.scale(criterion)
    counted = tuple(c for c in task.columns if columns is None or c.name in columns)
    seconds = mean_seconds(task, counted)
    entered = networks_of(task) if networks else list(task.families)
    allowed = [m for m in entered if affordable(seconds, m, budget)]
    fits = fits_of(task, scale, counted, allowed)
    barred = _barred(task, counted)
    standings = decide_over(fits, barred, scale.margin) if fits else None
    lacking = {
        m: tuple(c.title for c in counted if m not in task.scores[criterion][c.name])
        for m in allowed
        if m not in task.constants
    }
    lacking = {m: titles for m, titles in lacking.items() if titles}
    if standings is None or not standings.names:
        decision = standings.decision.standings if standings else {}
        rows = _apart(decision, seconds)
        return Ranking(task, scale, counted, rows, standings or _nothing(), lacking)
    fails = {m: failed_on(task, scale, counted, m) for m in standings.means}
    rows = (*_compared(standings, seconds, fails), *_apart(standings.decision.standings, seconds))
    count = standings.decision.replicates
    return Ranking(task, scale, counted, rows, standings, lacking, count)


def mean_seconds(task: Task, columns: Sequence[Column]) -> dict[str, float]:
    """Return method → mean fit seconds, for methods timed on all columns that have times.

    Columns that were run on another processor than most have none.
    """
    by_column = [timed for c in columns if (timed := task.seconds[c.name])]
    return {
        m: sum(of[m] for of in by_column) / len(by_column)
        for m in task.families
        if by_column and all(m in of for of in by_column)
    }


def networks_of(task: Task) -> list[str]:
    """Return the methods that are networks, and constants; all methods if none is a network."""
    return networks_among(task.families, task.constants)


def affordable(seconds: Mapping[str, float], method: str, budget: float | None) -> bool:
    """Return whether a method's fit time is within a multiple of the plain network's."""
    plain = next((seconds[name] for name in PLAIN if name in seconds), None)
    if budget is None or plain is None:
        return True
    return method in seconds and seconds[method] <= budget * plain


def fits_of(
    task: Task, scale: Scale, columns: Sequence[Column], methods: Sequence[str]
) -> list[Fits]:
    """Return the scores of each set of fits, averaged over its columns, with its weight."""
    groups: dict[str, list[Column]] = {}
    for column in columns:
        groups.setdefault(column.fits, []).append(column)
    of = task.scores[scale.name]
    return [
        Fits(
            {
                m: samples
                for m in methods
                if (samples := _samples(scale, [of[c.name].get(m, {}) for c in group]))
            },
            frozenset(run for c in group for runs in task.keys[c.name].values() for run in runs),
            group[0].by_fold,
            group[0].overlap,
            len(group) / len(columns),
            group[0].source,
            group[0].disjoint_rows,
        )
        for group in groups.values()
    ]


def _samples(scale: Scale, scores: Sequence[ByRun]) -> Samples:
    """Return run → mean lowered score over columns, for runs that all columns have."""
    common = [run for run in scores[0] if all(run in of for of in scores)]
    return {
        run: sum(scale.lowered(of[run]) for of in scores) / len(scores) for run in sorted(common)
    }


def _barred(task: Task, columns: Sequence[Column]) -> dict[str, Exclusion]:
    """Return the methods excluded from comparison because of runs in some column."""
    return {m: why for c in reversed(columns) for m, why in task.barred[c.name].items()}


def _compared(
    standings: Standings, seconds: Mapping[str, float], fails: Mapping[str, tuple[str, ...]]
) -> list[Row]:
    """Return the rows of the compared methods, in the order of their means."""
    decision, rows, limits = standings.decision, [], None
    leader = decision.leaders[0]
    if standings.errors is not None:
        first = standings.names.index(leader)
        limits = np.stack(limits_behind_best(standings.errors, first, decision.level), axis=1)
    for k, group in enumerate(decision.candidates):
        low, high = None, None
        if limits is not None and leader not in group:
            low, high = limits[k].tolist()
        for name in group:
            margin = standings.means[name] - standings.means[leader]
            standing = decision.standings[name]
            rows.append(Row(name, standing, margin, low, high, seconds.get(name), fails[name]))
    return sorted(rows, key=lambda row: row.margin or 0.0)


def _apart(standings: Mapping[str, Standing], seconds: Mapping[str, float]) -> tuple[Row, ...]:
    """Return the rows of the methods that are not compared, without constants."""
    return tuple(
        Row(m, standing, seconds=seconds.get(m))
        for m, standing in standings.items()
        if standing.excluded and standing.excluded.kind != "constant"
    )


def _nothing() -> Standings:
    return Standings(Decision({}))


def no_better_than_constants(ranking: Ranking, method: str) -> bool:
    """Return whether a method is not shown to beat every constant prediction, by likelihood.

    Uses plain paired intervals, pooled over the selected columns.
    """
    task, columns = ranking.task, ranking.columns
    scale = task.scale("likelihood")
    for constant in task.constants:
        mean, replicates_of, squared, freedom = 0.0, [], [], []
        sets = fits_of(task, scale, columns, [method, constant])
        for fits in sets:
            if not {method, constant} <= fits.samples.keys():
                return True
            ours, theirs = fits.samples[method], fits.samples[constant]
            common = sorted(ours.keys() & theirs.keys())
            gaps = replicates({run: theirs[run] - ours[run] for run in common}, fits.by_fold)
            n = len(gaps)
            if n < 2:
                return True
            centre = sum(gaps) / n
            variance = sum((gap - centre) ** 2 for gap in gaps) / (n - 1)
            mean += fits.weight * centre
            replicates_of.append(n)
            squared.append(np.array([variance * fits.share(n)]))
            freedom.append(np.array([n - 1.0]))
        (p,) = one_sided(np.array([mean]), *together(sets, replicates_of, squared, freedom))
        if p > LEVEL:
            return True
    return False

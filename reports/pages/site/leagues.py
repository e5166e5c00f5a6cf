"""The league of a question: its methods' scores on many data sets that share no row."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from bnnbench.reports.judge.over_sets.entries import Entries, league_over
from bnnbench.reports.judge.over_sets.league import League
from bnnbench.reports.judge.over_sets.policies import HeldOut
from bnnbench.reports.pages.site.ranking import affordable, mean_seconds, networks_of
from bnnbench.reports.pages.site.tasks import Column, Scale, Task


def league_of(
    task: Task, criterion: str, budget: float | None = None, networks: bool = False
) -> League | None:
    """Return the league of a question; None if there is no decision over its data sets.

    There is none for sets with common rows, for a score without a scale from a constant prediction
    to the best, and in the cases of `league_over`.
    """
    scale = task.scale(criterion)
    if scale.floor is None or not _are_apart(task.columns):
        return None
    seconds = mean_seconds(task, task.columns)
    entered = networks_of(task) if networks else list(task.families)
    allowed = [m for m in entered if affordable(seconds, m, budget)]
    sets = [_entries(task, scale, column) for column in task.columns]
    return league_over(sets, allowed, scale.floor, seconds)


def held_out_of(task: Task, of: League) -> list[HeldOut]:
    """Return the scores on blocks of held-out rows of a league's methods, by data set.

    NaN stands for a block that a method did not hold out.
    """
    return [
        _entries(task, task.scales[0], column).held_out(
            task.held_out.get(column.name, {}), of.methods
        )
        for column in task.columns
    ]


def facts_of(task: Task) -> dict[str, Float[ndarray, " sets"]]:
    """Return the facts that are known of every data set."""
    of = [task.facts.get(column.name, {}) for column in task.columns]
    known = [name for name in of[0] if all(name in one for one in of)]
    return {name: np.array([one[name] for one in of]) for name in known}


def sets_run(task: Task, criterion: str) -> dict[str, int]:
    """Return method → the number of data sets that it was run on, if that is some but not all."""
    sets = [_entries(task, task.scale(criterion), column) for column in task.columns]
    counts = {m: sum(of.has(m) for of in sets) for m in task.families}
    return {m: count for m, count in counts.items() if 0 < count < len(sets)}


def _are_apart(columns: Sequence[Column]) -> bool:
    """Return whether every column has separate rows."""
    data = {(c.suite, c.benchmark[1]) for c in columns}
    sources = [c.source for c in columns if c.source is not None]
    return len(data) == len(columns) and len(sources) == len(set(sources))


def _entries(task: Task, scale: Scale, column: Column) -> Entries:
    keys = task.keys[column.name]
    return Entries(
        column.title,
        column.by_fold,
        {m: {run: end.status for run, end in of.items()} for m, of in keys.items()},
        {
            m: {run: -scale.lowered(score) for run, score in of.items()}
            for m, of in task.scores[scale.name][column.name].items()
        },
        frozenset(task.constants),
    )

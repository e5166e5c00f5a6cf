"""The decision in a table column: best, practically equal, worse and undecided methods."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bnnbench.metrics.statistics import mean, replicates
from bnnbench.reports.judge.contest import Contest, Question, Tested, common_scores, tested_on
from bnnbench.reports.judge.participants import (
    Exclusion,
    Participants,
    candidates,
    participants,
)
from bnnbench.reports.judge.statistics.elimination import eliminated, equal_p, witnesses, worse_p
from bnnbench.reports.judge.summaries.planning import Plan, plan

State = Literal["", "best", "leads", "equal", "worse", "undecided", "not eligible"]
"""A method's state in a column; "" if nothing was tested."""
STATES: Mapping[State, str] = {
    "best": "best",
    "leads": "best mean",
    "equal": "practically equal",
    "worse": "worse",
    "undecided": "undecided",
    "": "not tested",
}
"""State → its words in tables. "leads" is none of them: that is a grade of answers."""


@dataclass(frozen=True)
class Standing:
    """The state of a method, and the reason for it."""

    state: State = ""
    excluded: Exclusion | None = None
    adjusted_p: float | None = None
    """The p-value of being worse than another method, adjusted by sequential elimination."""
    equal_p: float | None = None
    """The p-value of not being within the margin of the best, adjusted by Holm."""
    witness: str = ""
    """The method that it is worse than with the smallest p-value."""
    worse: bool = False
    """True if it is worse, even if it is practically equal."""
    gap: float = 0.0
    """The distance from its mean to the leader's over the common runs."""
    freedom: float | None = None
    """Degrees of freedom of that distance."""
    plan: Plan | None = None
    """The runs that would decide an undecided method."""


NOT_COMPARED = Standing()


@dataclass(frozen=True)
class Decision:
    """The states of all methods in a column, and the conditions under which they hold."""

    standings: Mapping[str, Standing]
    leaders: tuple[str, ...] = ()
    """The methods with the best mean over the common runs; the first leads the procedure."""
    candidates: tuple[tuple[str, ...], ...] = ()
    """The compared methods; methods with equal scores on every run form one candidate."""
    question: Question = ""
    untested: str = ""
    """The reason why nothing was tested, or "" """
    level: float = math.nan
    margin: float | None = None
    """The margin of practical equality in the unit of the score; None if absent."""
    runs: int = 0
    """The number of common runs."""
    replicates: int = 0
    """The number of folds (or, with only one fold, of seeds) in the common runs."""
    most_replicates: int = 0
    """The largest number of folds or seeds of any compared data set; 0 if there is only one set."""
    points: int = 0
    """The number of test points, if the question is about them."""
    ahead: tuple[str, ...] = ()
    """Compared methods whose mean over all their own runs is better than the leader's."""
    better_constants: tuple[str, ...] = ()
    """Constants with a better mean than every compared method."""

    def named(self, state: State) -> list[str]:
        """Return the methods in a state, in the order of the table."""
        return [name for name, standing in self.standings.items() if standing.state == state]


def decide(contest: Contest) -> Decision:
    """Return the decision on a column."""
    chosen = participants(contest.samples, contest.barred, contest.all_runs, contest.by_fold)
    standings = {name: NOT_COMPARED for name in contest.samples if contest.samples[name]}
    standings |= {
        name: Standing("not eligible", why)
        for name, why in chosen.left_out.items()
        if contest.samples[name]
    }
    if not chosen.methods:
        return Decision(standings)
    scores = common_scores(contest, chosen)
    means = scores.mean(1)
    groups = tuple(candidates(contest.samples, chosen.methods, chosen.common).values())
    rows = [chosen.methods.index(group[0]) for group in groups]
    leading = [k for k, row in enumerate(rows) if means[row] == means[rows].min()]
    common = {
        "leaders": tuple(name for k in leading for name in groups[k]),
        "candidates": groups,
        "runs": len(chosen.common),
        "replicates": scores.shape[1],
        "ahead": _ahead(contest, chosen, groups[leading[0]][0]),
        "better_constants": _better_constants(contest, chosen),
    }
    if len(groups) == 1:
        return Decision(standings, **common)
    tested = tested_on(contest, chosen, scores[rows], [group[0] for group in groups])
    if isinstance(tested, str):
        return Decision(standings, untested=tested, **common)
    margin = contest.margin and contest.margin.absolute(float(means.min()))
    of_candidates = standings_of(tested, leading, margin, [group[0] for group in groups])
    standings |= {
        name: standing
        for group, standing in zip(groups, of_candidates, strict=True)
        for name in group
    }
    return Decision(
        standings,
        question=tested.question,
        level=tested.level,
        margin=margin,
        points=tested.points,
        **common,
    )


def standings_of(
    tested: Tested, leading: Sequence[int], margin: float | None, names: Sequence[str]
) -> list[Standing]:
    """Return the standing of every candidate; the first of `leading` is the leader."""
    leader, p = leading[0], worse_p(tested.errors)
    adjusted = eliminated(p)
    rivals = [i for i in range(len(p)) if i != leader]
    worse = (adjusted <= tested.level) & (np.arange(len(p)) != leader)
    left = [i for i in range(len(p)) if not worse[i]]
    equal = np.ones(len(p))
    if margin is not None:
        equal = equal_p(tested.errors, left, leader, margin)
    settled = all(worse[i] or equal[i] <= tested.level for i in rivals)
    witness = witnesses(p)
    standings: list[Standing] = []
    for i in range(len(p)):
        state: State = "undecided"
        if i in leading:
            state = "best" if settled else "leads"
        elif equal[i] <= tested.level:
            state = "equal"
        elif worse[i]:
            state = "worse"
        needed = None
        if state == "undecided" and tested.pair and len(left) > 1:
            pair = tested.pair(i, leader)
            needed = plan(pair, tested.level, len(left), len(rivals), margin)
        standings.append(
            Standing(
                state,
                adjusted_p=None if i == leader else float(adjusted[i]),
                equal_p=None if i == leader or margin is None else float(equal[i]),
                witness=names[int(witness[i])] if worse[i] else "",
                worse=bool(worse[i]),
                gap=float(tested.errors.mean[i, leader]),
                freedom=None if i == leader else float(tested.errors.freedom[i, leader]),
                plan=needed,
            )
        )
    return standings


def _ahead(contest: Contest, chosen: Participants, leader: str) -> tuple[str, ...]:
    """Return the compared methods whose printed mean is better than the leader's."""
    means = {name: _mean(contest, name) for name in chosen.methods}
    return tuple(name for name, value in means.items() if value < means[leader])


def _better_constants(contest: Contest, chosen: Participants) -> tuple[str, ...]:
    """Return the constants whose mean is better than every compared method's."""
    least = min(_mean(contest, name) for name in chosen.methods)
    return tuple(
        name
        for name, why in chosen.left_out.items()
        if why.kind == "constant" and contest.samples[name] and _mean(contest, name) < least
    )


def _mean(contest: Contest, name: str) -> float:
    return contest.sign * mean(replicates(contest.samples[name], contest.by_fold))

"""Pairwise comparisons of a column's methods, shown on request; they colour no cell."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bnnbench.metrics.statistics import holm
from bnnbench.reports.judge.contest import Contest, Question, common_scores, tested_on
from bnnbench.reports.judge.participants import candidates, participants
from bnnbench.reports.judge.statistics.elimination import worse_p
from bnnbench.reports.judge.statistics.shaffer import shaffer


@dataclass(frozen=True)
class PairDifference:
    """The difference between two methods; the first has the better mean."""

    better: str
    other: str
    difference: float
    """The first method's score less the second's."""
    standard_error: float
    freedom: float
    p_value: float
    """Two-sided."""
    adjusted_p: float
    """By Shaffer's procedure over all pairs of the column."""
    question: Question


def pairs(contest: Contest) -> Iterator[PairDifference]:
    """Yield all pairs of compared methods; none if nothing is tested.

    Methods with equal scores on every run are named together.
    """
    chosen = participants(contest.samples, contest.barred, contest.all_runs, contest.by_fold)
    groups = candidates(contest.samples, chosen.methods, chosen.common)
    if len(groups) < 2:
        return
    rows = [chosen.methods.index(name) for name in groups]
    tested = tested_on(contest, chosen, common_scores(contest, chosen)[rows], list(groups))
    if isinstance(tested, str):
        return
    names = [" = ".join(group) for group in groups.values()]
    errors, p = tested.errors, worse_p(tested.errors)
    adjusted = shaffer(p)
    order = np.argsort(errors.mean[:, 0], kind="stable")
    for k, i in enumerate(order):
        for j in order[k + 1 :]:
            yield PairDifference(
                names[i],
                names[j],
                contest.sign * float(errors.mean[i, j]),
                math.sqrt(errors.squared_error[i, j]),
                float(errors.freedom[i, j]),
                min(1.0, 2 * float(min(p[i, j], p[j, i]))),
                float(adjusted[i, j]),
                tested.question,
            )


@dataclass(frozen=True)
class Against:
    """One method compared with all others of a column."""

    beats: tuple[str, ...]
    """Methods that are worse, by Holm over the comparisons with this method."""
    loses_to: tuple[str, ...]
    undecided: tuple[str, ...]
    identical: tuple[str, ...]
    """Methods with equal scores on every run."""


def against(contest: Contest, name: str) -> Against | None:
    """Return how a method compares with each other method; None if nothing is tested."""
    chosen = participants(contest.samples, contest.barred, contest.all_runs, contest.by_fold)
    groups = candidates(contest.samples, chosen.methods, chosen.common)
    head = next((first for first, group in groups.items() if name in group), None)
    if head is None or len(groups) < 2:
        return None
    rows = [chosen.methods.index(first) for first in groups]
    tested = tested_on(contest, chosen, common_scores(contest, chosen)[rows], list(groups))
    if isinstance(tested, str):
        return None
    firsts, p = list(groups), worse_p(tested.errors)
    k = firsts.index(head)
    rivals = [i for i in range(len(firsts)) if i != k]
    two_sided = np.array([min(1.0, 2 * float(min(p[i, k], p[k, i]))) for i in rivals])
    by_kind: dict[str, list[str]] = {"beats": [], "loses_to": [], "undecided": []}
    for i, adjusted in zip(rivals, holm(two_sided), strict=True):
        kind = "undecided"
        if adjusted <= tested.level:
            kind = "beats" if tested.errors.mean[i, k] > 0 else "loses_to"
        by_kind[kind] += groups[firsts[i]]
    twins = [other for other in groups[head] if other != name]
    return Against(
        **{kind: tuple(names) for kind, names in by_kind.items()}, identical=tuple(twins)
    )

"""The decision on methods over data sets as random, with everything that stands beside it."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from bnnbench.reports.judge.over_sets.draws import redraws
from bnnbench.reports.judge.over_sets.flips import DRAWS, worse_over_sets
from bnnbench.reports.judge.over_sets.grades import Evidence, Grade, grade
from bnnbench.reports.judge.over_sets.league import SAME, League, Shares
from bnnbench.reports.judge.statistics.intervals import t_interval
from bnnbench.reports.judge.statistics.moderation import LEVEL

LEAGUES = 2_000
"""Redraws of the data sets."""
NEAR = 0.02
"""Mean shares of the gap that differ by at most this much are near each other."""
FEWER_DRAWS = 1_999
"""Flips without each data set, of which only the number of worse methods is told."""


@dataclass(frozen=True)
class Place:
    """A method's place over the data sets."""

    method: str
    share: float
    """Its mean share of the gap between the constant and the best, u."""
    half_width: float
    behind: float
    """The distance from the first in u, with half of its paired interval."""
    behind_half: float
    wins: int
    losses: int
    below: tuple[str, ...]
    """Data sets on which it is worse than the constant."""
    rank: float
    adjusted_p: float
    worse: bool
    seconds: float | None


@dataclass(frozen=True)
class Verdict:
    """The decision over data sets as random."""

    league: League
    places: tuple[Place, ...]
    """The largest mean share first."""
    evidence: Evidence
    fewest_worse: int
    most_worse: int
    """The range of the number of worse methods when one data set is left out."""

    @property
    def grade(self) -> Grade:
        """The grade of the first."""
        return grade(self.evidence)

    @property
    def first(self) -> str:
        """The method with the largest mean share."""
        return self.evidence.first

    @property
    def cheapest(self) -> Place:
        """The cheapest method near the first that is not worse; the first if costs are unknown."""
        first = self.places[0]
        near = [p for p in self.places if not p.worse and p.behind <= NEAR and p.seconds]
        return min(near, key=lambda p: p.seconds or 0.0) if first.seconds else first


def verdict(of: League, draws: int = DRAWS) -> Verdict:
    """Return the decision on a league, at level .05."""
    total, p = of.shares.u.sum(1), worse_over_sets(of.shares, draws)
    lead = of.first(total)
    without = [int(_without(of, g).sum()) for g in range(len(of.sets))]
    order = sorted(range(len(p)), key=lambda m: (m != lead, -total[m]))
    worse = _worse(p, lead)
    places = tuple(_place(of, m, lead, float(p[m]), bool(worse[m])) for m in order)
    return Verdict(of, places, evidence(of, p), min(without), max(without))


def evidence(of: League, adjusted_p: Float[ndarray, " methods"]) -> Evidence:
    """Return what decides the grade of a league's first method."""
    u, total = of.shares.u, of.shares.u.sum(1)
    lead = of.first(total)
    firsts = {title: of.first(total - u[:, g]) for g, title in enumerate(of.titles)}
    return Evidence(
        of.methods[lead],
        len(of.methods) - 1,
        int(_worse(adjusted_p, lead).sum()),
        others_first={title: of.methods[m] for title, m in firsts.items() if m != lead},
        share=share_first(u, lead),
        first_by_rank=bool(of.shares.ranks.sum(1).argmax() == lead),
        far_below=int((of.below[lead] > of.floor).sum()),
        tied=bool((np.delete(total, lead) >= total[lead] - SAME).any()),
    )


def share_first(values: Float[ndarray, "methods sets"], lead: int) -> float:
    """Return the share of redraws of the sets in which a method has the largest sum."""
    totals = values @ redraws(values.shape[1], LEAGUES).T
    return float(np.mean(totals[lead] >= totals.max(0) - SAME))


def _without(of: League, left_out: int) -> Bool[ndarray, " methods"]:
    """Return which methods are worse without one data set."""
    u, ranks = (np.delete(y, left_out, axis=1) for y in (of.shares.u, of.shares.ranks))
    return _worse(worse_over_sets(Shares(u, ranks), FEWER_DRAWS), of.first(u.sum(1)))


def _worse(p: ndarray, first: int) -> Bool[ndarray, " methods"]:
    return (p <= LEVEL) & (np.arange(len(p)) != first)


def _place(of: League, m: int, lead: int, p: float, worse: bool) -> Place:
    u, ranks, name = of.shares.u, of.shares.ranks, of.methods[m]
    share, behind = t_interval(u[m].tolist()), t_interval((u[lead] - u[m]).tolist())
    assert share is not None, "shares are finite, and of several sets"
    assert behind is not None, "shares are finite, and of several sets"
    return Place(
        name,
        share.mean,
        share.half_width,
        behind.mean,
        behind.half_width,
        int((ranks[m] > ranks[lead]).sum()),
        int((ranks[m] < ranks[lead]).sum()),
        tuple(t for t, b in zip(of.titles, of.below[m], strict=True) if b > 0),
        float((1 + (1 - ranks[m]) * len(of.methods)).mean()),
        p,
        worse,
        of.seconds.get(name),
    )

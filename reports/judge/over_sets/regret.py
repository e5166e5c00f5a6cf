"""The regret of advice on data sets that it has not seen: one set is left out at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from bnnbench.metrics.statistics import holm
from bnnbench.reports.judge.over_sets.draws import redraws
from bnnbench.reports.judge.over_sets.league import League, first_largest
from bnnbench.reports.judge.over_sets.policies import (
    HeldOut,
    Policy,
    always,
    first_in_nats,
    first_of,
    mean_gains,
    searched,
    seconds_of,
    shortlist,
)
from bnnbench.reports.judge.over_sets.verdict import LEAGUES

MOST_NUMBERS = 4_000_000
SIZES = (2, 3)
"""Lengths of shortlists."""


class Interval(NamedTuple):
    """An estimate with the 2.5 and 97.5 % points of its bootstrap."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Outcome:
    """The regret of one kind of advice."""

    name: str
    members: tuple[str, ...]
    """The methods recommended from all data sets."""
    keeps_best: bool
    """True for a shortlist, of which the best on held-out rows is kept."""
    recommended: Mapping[str, tuple[str, ...]]
    """Data set left out → the methods recommended from the others."""
    regret: Interval
    """In shares of the gap: the best method's in hindsight less the recommended one's, averaged."""
    nats: Mapping[str, float]
    """Data set left out → the same in the unit of the score."""
    minus_first: Interval
    """The regret less that of the board's first."""
    adjusted_p: float | None
    """Of a constant recommendation being as good as the board's first, two-sided, by Holm."""
    seconds: float
    """Median over sets of the seconds of fitting the recommended methods once."""

    @property
    def worst(self) -> str:
        """The data set with the largest regret."""
        return max(self.nats, key=lambda name: self.nats[name])


@dataclass(frozen=True)
class RuleOutcome:
    """The regret of a rule on facts of the table that is used only where it has proved itself."""

    regret: Interval
    minus_first: Interval
    used: float
    """Share of the data sets left out for which the rule was used."""


def outcomes(of: League, held_out: Sequence[HeldOut] = ()) -> list[Outcome]:
    """Return the regret of the board's first and of its rivals; the board's first comes first.

    `held_out` are scores on held-out training rows by set, for shortlists; without, there is none.
    """
    board, constant = first_of(of), always(of)
    lists = [shortlist(of, held_out, size) for size in SIZES] if held_out else []
    if held_out:
        everyone = len(searched(held_out))
        lists.append(shortlist(of, held_out, everyone, "run all, keep the best on held-out rows"))
    rivals = [*constant, first_in_nats(of), *(one for one in lists if one)]
    weights = redraws(len(of.sets), LEAGUES)
    base = regrets(of, board, weights)
    outcomes_of_all = [_outcome(of, board, base, base, None)]
    drawn = [regrets(of, rival, weights) for rival in rivals]
    p = [two_sided(drawn_regrets - base) for drawn_regrets in drawn[: len(constant)]]
    adjusted = [*holm(np.array(p)), *[None] * len(rivals)]
    return outcomes_of_all + [
        _outcome(of, rival, drawn_regrets, base, one)
        for rival, drawn_regrets, one in zip(rivals, drawn, adjusted, strict=False)
    ]


def regrets(
    of: League, policy: Policy, weights: Int[ndarray, "draws sets"]
) -> Float[ndarray, " draws_and_one"]:
    r"""Return the mean regret in every redraw of the sets, with the selection redone.

    For every set g that is drawn, the policy sees the drawn sets without any copy of g; the value
    is $\sum_g w_g r_g / G$. The last number is that of the sets themselves, each once.
    """
    weights = np.vstack([weights, np.ones(weights.shape[1], int)])
    best, sets = of.shares.u.max(0), weights.shape[1]
    rows = np.argsort([seconds_of(of, m) for m in policy.members], kind="stable")  # ties: cheaper
    select, u = policy.select[rows], policy.u[rows]
    total = np.zeros(len(weights))
    at = np.arange(len(weights))
    for part in np.array_split(at, 1 + len(at) * len(rows) // MOST_NUMBERS):
        drawn = weights[part]
        sums = drawn @ select.T
        for g in range(sets):
            chosen = first_largest(sums - np.outer(drawn[:, g], select[:, g]))
            total[part] += drawn[:, g] * (best[g] - u[chosen, g]) / sets
    return total


def two_sided(differences: Float[ndarray, " draws_and_one"]) -> float:
    """Return the p-value of no difference, from the draws on either side of 0."""
    drawn = differences[:-1]
    least = min((drawn <= 0).sum(), (drawn >= 0).sum())
    return min(1.0, 2.0 * (1 + int(least)) / (1 + len(drawn)))


def interval(drawn: Float[ndarray, " draws_and_one"]) -> Interval:
    """Return the last number, and percentiles of the others."""
    low, high = np.quantile(drawn[:-1], (0.025, 0.975))
    return Interval(float(drawn[-1]), float(low), float(high))


def _outcome(
    of: League, policy: Policy, drawn_regrets: ndarray, base: ndarray, adjusted_p: float | None
) -> Outcome:
    whole = [~np.isnan(one.gains).any(1) for one in of.sets]
    gains = np.where(np.array(whole).T, mean_gains(of), -np.inf)
    left = policy.select.sum(1, keepdims=True) - policy.select
    rows = np.argsort([seconds_of(of, m) for m in policy.members], kind="stable")
    chosen = rows[first_largest(left[rows].T)]
    members = {title: policy.members[c] for title, c in zip(of.titles, chosen, strict=True)}
    nats = gains.max(0) - policy.nats[chosen, np.arange(len(chosen))]
    everywhere = rows[int(first_largest(policy.select[rows].sum(1)))]
    return Outcome(
        policy.name,
        policy.members[everywhere],
        policy.keeps_best,
        members,
        interval(drawn_regrets),
        {title: float(n) for title, n in zip(of.titles, nats, strict=True)},
        interval(drawn_regrets - base),
        adjusted_p,
        float(np.median([seconds_of(of, m) for m in members.values()])),
    )

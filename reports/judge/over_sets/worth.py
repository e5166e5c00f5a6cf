"""The worth of a league's advice on a data set that it has not seen, and advice that is shipped."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from bnnbench.reports.judge.over_sets.draws import redraws
from bnnbench.reports.judge.over_sets.league import League
from bnnbench.reports.judge.over_sets.policies import HeldOut, first_of
from bnnbench.reports.judge.over_sets.regret import (
    Outcome,
    RuleOutcome,
    interval,
    outcomes,
    regrets,
)
from bnnbench.reports.judge.over_sets.rule import FEWEST, nested_regrets
from bnnbench.reports.judge.over_sets.tables import Rows, advice_rows, worth

RULE_DRAWS = 300
"""Redraws for the rule, whose selection is redone in each."""


@dataclass(frozen=True)
class Worth:
    """The regret of the board's first and of its rivals; the board's first comes first."""

    outcomes: list[Outcome]
    rule: RuleOutcome | None
    text: str

    @property
    def rows(self) -> Rows:
        """A row for each kind of advice, below the heading `tables.ADVICE`."""
        return advice_rows(self.outcomes, self.rule)


def worth_of_league(
    of: League, held_out: Sequence[HeldOut], facts: Mapping[str, Float[ndarray, " sets"]]
) -> Worth:
    """Return the worth of advice; without held-out scores there are no shortlists."""
    regret = outcomes(of, held_out)
    return Worth(regret, rule_outcome(of, facts), worth(regret, noise_floor(of)))


def rule_outcome(of: League, facts: Mapping[str, Float[ndarray, " sets"]]) -> RuleOutcome | None:
    """Return the regret of the nested rule; None for too few data sets, or no facts."""
    if len(of.sets) < FEWEST or not facts:
        return None
    weights = redraws(len(of.sets), RULE_DRAWS)
    drawn = np.vstack([weights, np.ones(len(of.sets), int)]).astype(float)
    regret, used = nested_regrets(of.shares.u, facts, drawn)
    base = regrets(of, first_of(of), weights)
    return RuleOutcome(interval(regret), interval(regret - base), float(used[-1]))


def noise_floor(of: League) -> float:
    """Return the regret in u of the best method on half of the splits, on the other half."""
    regret = []
    for one in of.sets:
        gap = one.gap(of.floor)
        gains = np.fmax(np.nan_to_num(one.gains, nan=-gap), -gap)
        halves = [np.clip(gains[:, k::2].mean(1) / gap, 0, 1) for k in range(2)]
        regret += [new.max() - new[seen.argmax()] for seen, new in (halves, halves[::-1])]
    return float(np.mean(regret))


TABLE = Path(__file__).parent / "shipped_advice.csv"
COLUMNS = ("kind", "data_sets", "advice", "worth")

Kind = Literal["regression", "classification"]


def shipped_advice(kind: Kind) -> str:
    """Return the board's advice and what it is worth on an unseen table; "" if there is none."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["kind"] == kind]
    if not rows:
        return ""
    (row,) = rows
    return f"From {row['data_sets']} other tables, for {kind}: {row['advice']} {row['worth']}"

"""The cells of a question: each method's open places and the class that colours them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from bnnbench.reports.judge.over_sets.flips import pairs_over_sets
from bnnbench.reports.judge.over_sets.verdict import Verdict
from bnnbench.reports.judge.statistics.elimination import worse_p
from bnnbench.reports.judge.statistics.moderation import LEVEL
from bnnbench.reports.judge.statistics.shaffer import open_places, worse_pairs
from bnnbench.reports.pages.site.answers import Answer
from bnnbench.reports.pages.site.ranking import Ranking
from bnnbench.reports.style.words import joined

Kind = Literal["best", "front", "undecided", "middle", "back", "fails"]
FAILURES = ("unfinished", "not a number")
"""Reasons for which a method is not compared, that are failures of its own."""


@dataclass(frozen=True)
class Cell:
    """A method's open places in a question."""

    kind: Kind
    low: int = 0
    high: int = 0
    why: str = ""
    """Why it fails."""


def cells_of(answer: Answer) -> dict[str, Cell]:
    """Return method → its cell, for methods with runs on all of a question's data sets."""
    places = _over_sets(answer.verdict) if answer.verdict else _on_given(answer.ranking)
    count = len(places)
    best = answer.first if answer.grade == "best" else ""
    equal = [] if answer.verdict else answer.ranking.of("equal")
    cells = {m: Cell(_kind(low, high, count, m == best), low, high) for m, (low, high) in places}
    cells |= {m: replace(cells[m], kind="front") for m in equal}
    return cells | {m: Cell("fails", why=why) for m, why in _failures(answer)}


def _kind(low: int, high: int, count: int, is_best: bool) -> Kind:
    if is_best:
        return "best"
    better, worse = low - 1, count - high
    if better == 0:
        return "front" if count > 1 and 2 * worse >= count - 1 else "undecided"
    return "middle" if 2 * better <= count - 1 else "back"


def _on_given(ranking: Ranking) -> list[tuple[str, tuple[int, int]]]:
    """Return the open places of all compared methods, also of those with equal scores."""
    standings, names = ranking.standings, [row.method for row in ranking.compared]
    if standings.errors is None:
        return [(m, (1, len(names))) for m in names]
    groups = standings.decision.candidates
    of = [next(k for k, group in enumerate(groups) if m in group) for m in names]
    pairs = worse_pairs(worse_p(standings.errors))[np.ix_(of, of)]
    worse = np.array([row.standing.state == "worse" for row in ranking.compared])
    places = open_places(worse, pairs, standings.decision.level)
    return [(m, (int(low), int(high))) for m, (low, high) in zip(names, places, strict=True)]


def _over_sets(verdict: Verdict) -> list[tuple[str, tuple[int, int]]]:
    names, league = [place.method for place in verdict.places], verdict.league
    of = [league.methods.index(m) for m in names]
    pairs = pairs_over_sets(league.shares)[np.ix_(of, of)]
    places = open_places(np.array([place.worse for place in verdict.places]), pairs, LEVEL)
    ranges = zip(names, places.tolist(), strict=True)
    return [(m, (low, high)) for name, (low, high) in ranges for m in (name, *league.alike[name])]


def _failures(answer: Answer) -> Iterator[tuple[str, str]]:
    """Yield the methods that fail, and why; over many data sets a failure only costs a share."""
    for row in answer.ranking.rows:
        excluded = row.standing.excluded
        if excluded and excluded.kind in FAILURES and answer.verdict is None:
            yield row.method, excluded.reason
        elif row.fails and answer.verdict is None:
            yield row.method, f"worse than a constant prediction on {joined(row.fails)}"

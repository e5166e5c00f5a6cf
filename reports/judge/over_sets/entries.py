"""The runs of methods on data sets, and the league of the methods that were run on all of them."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from bnnbench.metrics.statistics import mean
from bnnbench.reports.judge.over_sets.league import FEWEST_SETS, League, SetScores, league
from bnnbench.reports.judge.over_sets.policies import HeldOut
from bnnbench.reports.judge.participants import Run


@dataclass(frozen=True)
class Entries:
    """The runs of all methods on one data set."""

    title: str
    by_fold: bool
    ended: Mapping[str, Mapping[Run, str]]
    """method → run → its status"""
    scores: Mapping[str, Mapping[Run, float]]
    """method → run → score, higher is better; failed runs have none"""
    constants: Set[str]

    @cached_property
    def runs(self) -> list[Run]:
        """The runs that were requested of any method."""
        return sorted({run for runs in self.ended.values() for run in runs})

    def has(self, method: str) -> bool:
        """Return whether a method was started on every split, and is scored wherever it ended well.

        A fit that failed or diverged counts. So does one that did not converge, because its
        prediction is what a user of the method gets.
        """
        ended, scores = self.ended.get(method, {}), self.scores.get(method, {})
        if not scores:
            return False
        if self.by_fold or method in self.constants:
            is_whole = {fold for fold, _ in ended} == {fold for fold, _ in self.runs}
        else:
            is_whole = len(ended) == len(self.runs)
        well = [run for run, status in ended.items() if status == "completed"]
        return is_whole and all(run in scores for run in well)

    def set_scores(self, methods: Sequence[str], constant: str) -> SetScores:
        """Return the scores of methods that the set has, by split, with means over seeds."""
        rows = {
            m: self.by_split(self.scores[m], sorted(self.ended[m])) for m in (*methods, constant)
        }
        scores, base = np.array([rows[m] for m in methods]), np.array(rows[constant])
        if not self.by_fold:  # a constant needs no seeds
            base = np.full(scores.shape[1], base.mean())
        return SetScores(self.title, scores, base)

    def held_out(
        self, blocks: Mapping[str, Mapping[Run, Sequence[float]]], methods: Sequence[str]
    ) -> HeldOut:
        """Return scores on blocks of held-out rows; NaN for a block that was not held out."""
        of = {m: blocks.get(m, {}) for m in methods}
        most = max((len(b) for by_run in of.values() for b in by_run.values()), default=1)
        rows = [
            self.by_split({run: b[k] for run, b in of[m].items() if k < len(b)}, self.runs)
            for m in methods
            for k in range(most)
        ]
        return np.moveaxis(np.array(rows).reshape(len(methods), most, -1), 1, 2)

    def by_split(
        self, scores: Mapping[Run, float], runs: Sequence[Run]
    ) -> Float[ndarray, " splits"]:
        """Return one score a split, NaN if a seed of it has none."""
        if not self.by_fold:
            return np.array([scores.get(run, np.nan) for run in runs])
        folds = sorted({fold for fold, _ in runs})
        seeds = {fold: [run for run in runs if run[0] == fold] for fold in folds}
        return np.array([mean([scores.get(run, np.nan) for run in seeds[f]]) for f in folds])


def league_over(
    sets: Sequence[Entries], methods: Sequence[str], floor: float, seconds: Mapping[str, float]
) -> League | None:
    """Return the league of the methods that every set has.

    None for fewer than eight sets, without a constant, and for fewer than two methods.
    """
    if len(sets) < FEWEST_SETS:
        return None
    everywhere = [m for m in sets[0].ended if all(of.has(m) for of in sets)]
    constants = [m for m in everywhere if all(m in of.constants for of in sets)]
    entered = [m for m in methods if m in everywhere and m not in constants]
    if not constants or len(entered) < 2:
        return None
    scores = [of.set_scores(entered, constants[0]) for of in sets]
    return league(entered, scores, floor, seconds)

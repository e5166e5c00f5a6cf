"""The scores of one column, and the errors of the differences between its methods."""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from bnnbench.metrics.base import Margin
from bnnbench.metrics.statistics import Samples, replicates
from bnnbench.reports.judge.participants import FEWEST, Exclusion, Participants, Run
from bnnbench.reports.judge.statistics.crossed import Crossed, over_draws, over_points
from bnnbench.reports.judge.statistics.elimination import Errors
from bnnbench.reports.judge.statistics.moderation import differences, level
from bnnbench.reports.judge.summaries.planning import Pair
from bnnbench.reports.read.predictions.point_scores import AtPoints
from bnnbench.reports.read.predictions.redrawn import Redrawn

Question = Literal["", "new seeds", "these networks", "new seeds and new test points", "new splits"]
"""The population that a column's claims are about; "" if nothing was tested."""

Points = Callable[[str, Run], AtPoints | None]
"""Function from a method and a run to scores by point; it returns None if none are stored."""


@dataclass(frozen=True)
class Contest:
    """The scores of one column, with everything needed to compare them."""

    samples: Mapping[str, Samples]
    """method → its scores, in the order of the table"""
    higher_is_better: bool
    by_fold: bool
    overlap: float | None = 0.0
    """Factor by which shared rows widen errors over splits (`overlap_of`); None if unknown."""
    margin: Margin | None = None
    asked: Set[Run] = frozenset()
    """All runs requested of any method; if empty, the runs that have a score."""
    barred: Mapping[str, Exclusion] = field(default_factory=dict)
    """Methods excluded because of their runs."""
    points: Points | None = None

    @property
    def all_runs(self) -> Set[Run]:
        """The runs requested of any method."""
        return self.asked or {run for values in self.samples.values() for run in values}

    @property
    def sign(self) -> float:
        """The factor that makes lower scores better."""
        return -1.0 if self.higher_is_better else 1.0


@dataclass(frozen=True)
class Tested:
    """The errors of all differences between candidates, and the inputs for planning more runs."""

    errors: Errors
    question: Question
    level: float
    points: int = 0
    pair: Callable[[int, int], Pair] | None = None


def tested_on(
    contest: Contest, chosen: Participants, scores: Float[ndarray, "methods runs"], names: list[str]
) -> Tested | str:
    """Return the errors of the candidates' differences, or the reason why there are none."""
    count, runs = scores.shape
    if contest.by_fold and contest.overlap is None:
        return "the records do not say how many rows were tested"
    crossed = None if contest.by_fold or runs == 2 else _crossed(contest, chosen, names, scores)
    if runs == 1 and crossed:
        errors = crossed.these_networks()
        return Tested(errors, "these networks", level(count, crossed.points), crossed.points)
    if runs < FEWEST:
        noun = "split" if contest.by_fold else "run"
        return f"fewer than {FEWEST} {noun}s"
    overlap = contest.overlap if contest.by_fold and contest.overlap else 0.0
    at = level(count, runs)
    if crossed:
        errors, seeds = crossed.both(), crossed.of_seeds * runs
        lasting, parts = crossed.lasting, crossed.parts_of_points

        def crossed_pair(i: int, j: int) -> Pair:
            freedom = float(crossed.freedom_of_seeds[i, j])
            fixed = float(lasting[i, j]), float(parts[i, j])
            return Pair(float(errors.mean[i, j]), float(seeds[i, j]), freedom, runs, *fixed)

        return Tested(errors, "new seeds and new test points", at, crossed.points, crossed_pair)
    pairwise = differences(scores)
    errors = Errors(pairwise.mean, pairwise.variance * (1 / runs + overlap), pairwise.freedom)

    def pair(i: int, j: int) -> Pair:
        gap, variance, freedom = (float(a[i, j]) for a in pairwise)
        return Pair(gap, variance, freedom, runs, overlap=overlap)

    return Tested(errors, "new splits" if contest.by_fold else "new seeds", at, pair=pair)


def common_scores(contest: Contest, chosen: Participants) -> Float[ndarray, "methods runs"]:
    """Return the scores on the common runs, lower is better; seeds of a fold are averaged."""
    rows = []
    for name in chosen.methods:
        values = {run: contest.samples[name][run] for run in chosen.common}
        rows.append(replicates(values, contest.by_fold))
    return contest.sign * np.array(rows)


def _crossed(
    contest: Contest, chosen: Participants, names: Sequence[str], scores: ndarray
) -> Crossed | None:
    """Return the candidates' scores by seed and point; None unless they exist for all runs."""
    if contest.points is None:
        return None
    by_method = [[contest.points(name, run) for run in chosen.common] for name in names]
    flat = [of for of_method in by_method for of in of_method]
    drawn = [of for of in flat if isinstance(of, Redrawn)]
    shape = scores.shape
    if len(drawn) == len(flat) and len({of.points for of in drawn}) == 1:
        draws = contest.sign * np.array([of.draws for of in drawn]).reshape(*shape, -1)
        return Crossed(scores, [over_draws(draws, drawn[0].points)])
    factors = [of for of in flat if isinstance(of, tuple)]
    if len(factors) < len(flat) or len({tuple(map(len, of)) for of in factors}) != 1:
        return None
    return Crossed(
        scores,
        [
            over_points(contest.sign * np.array([of[k] for of in factors]).reshape(*shape, -1))
            for k in range(len(factors[0]))
        ],
    )

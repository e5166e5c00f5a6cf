"""Verdicts on given data sets, simulated: `python -m docs.generate.simulated_given_sets`.

Writes docs/bundle/leagues/simulated_given_sets.csv: how often a truly best method is called worse,
how often a pair of places is in the wrong order, and the grades of the first. It takes a minute or
two of processor time; a number of repetitions as argument shortens it.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
from jaxtyping import Float
from numpy import ndarray

from bnnbench.reports.judge.given_sets import (
    FEWEST_SETS,
    first_without,
    first_without_replicate,
    share_first,
)
from bnnbench.reports.judge.over_sets.grades import Evidence, Grade, grade
from bnnbench.reports.judge.pooled import Fits, Standings, decide_over
from bnnbench.reports.judge.statistics.elimination import worse_p
from bnnbench.reports.judge.statistics.shaffer import consequences, open_places, worse_pairs
from docs.generate.finished_runs import BUNDLE

FILE = BUNDLE / "leagues" / "simulated_given_sets.csv"
REPETITIONS, METHODS = 300, 15
GRADES: tuple[Grade, ...] = ("best", "leads", "not shown to be best", "not decided")


@dataclass(frozen=True)
class Size:
    """The number of data sets, of splits or seeds of each, and what splits share."""

    sets: int
    replicates: int
    overlap: float = 0.0


SIZES = (Size(5, 20, 1 / 9), Size(3, 5, 1 / 9), Size(4, 10), Size(1, 6), Size(1, 20, 1 / 9))


@dataclass(frozen=True)
class Truth:
    """True mean losses, in standard deviations of a replicate; the rest is random on each set."""

    name: str
    means: Float[ndarray, " methods"]
    of_sets: float = 0.0
    """Standard deviation of a method's true loss between data sets, about its mean."""

    def losses(self, rng: np.random.Generator, sets: int) -> Float[ndarray, "sets methods"]:
        """Return the true losses, whose mean over the data sets is exact."""
        drawn = self.of_sets * rng.normal(size=(sets, len(self.means)))
        return self.means + drawn - drawn.mean(0)


INDEX = np.arange(METHODS)
TRUTHS = (
    Truth("all equal", np.zeros(METHODS)),
    Truth("all equal in the mean, not on each set", np.zeros(METHODS), 2.0),
    Truth("half tied for best, the others 3 behind", np.where(INDEX % 2, 3.0, 0.0)),
    Truth("seven pairs of equals, each 1.5 behind the last", 1.5 * (INDEX // 2)),
    Truth("one best, the others 1 behind", np.where(INDEX, 1.0, 0.0)),
    Truth("one far best, the others 3 behind", np.where(INDEX, 3.0, 0.0)),
    Truth("a ladder of steps of .25", 0.25 * INDEX),
)


def main() -> None:
    """Write the simulation's rates."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else REPETITIONS
    pd.DataFrame(rows(repetitions)).to_csv(FILE, index=False)


def rows(repetitions: int) -> Iterator[dict[str, object]]:
    """Yield a row for each truth and size."""
    for truth, size in product(TRUTHS, SIZES):
        yield rates(truth, size, repetitions)


def rates(truth: Truth, size: Size, repetitions: int) -> dict[str, object]:
    """Return the rates of errors, and of grades with those whose first is not truly best."""
    rng = np.random.default_rng([size.sets, size.replicates, len(truth.name)])
    best, false_best, false_pair, found = truth.means == truth.means.min(), 0, 0, []
    graded: list[tuple[Grade, bool]] = []
    for _ in range(repetitions):
        sets = drawn(rng, truth, size)
        standings = decide_over(sets, {}, None)
        worse = np.array([standings.decision.standings[m].worse for m in standings.names])
        shown = shown_worse(standings, worse)
        false_best += bool(worse[best].any())
        false_pair += bool((shown & (truth.means[:, None] <= truth.means)).any())
        found.append(worse[~best].mean() if (~best).any() else np.nan)
        of = evidence(sets, standings, int(worse.sum()))
        graded.append((grade(of), bool(best[standings.names.index(of.first)])))
    error = np.sqrt(max(false_best, 1) / repetitions / repetitions)
    return {
        **{"truth": truth.name, "data sets": size.sets, "replicates": size.replicates},
        "repetitions": repetitions,
        "a best one called worse": f"{false_best / repetitions:.3f}",
        "standard error": f"{error:.3f}",
        "some pair of places wrong": f"{false_pair / repetitions:.3f}",
        "inferior ones found": "" if best.all() else f"{np.nanmean(found):.2f}",
        **{
            one: f"{np.mean([g == one for g, _ in graded]):.3f} / "
            f"{np.mean([g == one and not right for g, right in graded]):.3f}"
            for one in GRADES
        },
    }


def drawn(rng: np.random.Generator, truth: Truth, size: Size) -> list[Fits]:
    """Return fits whose errors have a part of the method, of its family, of the run, and a tail."""
    runs = [(k, 0) for k in range(size.replicates)]
    sets = []
    for losses in truth.losses(rng, size.sets):
        shape, overlap = (METHODS, size.replicates), np.sqrt(size.overlap)
        own = rng.standard_t(5, shape) / np.sqrt(5 / 3) + overlap * rng.normal(size=(METHODS, 1))
        family = (rng.normal(size=shape) + overlap * rng.normal(size=(METHODS, 1)))[INDEX // 3]
        spread = rng.permutation(np.geomspace(0.5, 2, METHODS))[:, None]
        scores = losses[:, None] + spread * (np.sqrt(0.7) * own + np.sqrt(0.3) * family)
        scores += rng.normal(size=size.replicates)
        rows = [dict(zip(runs, row.tolist(), strict=True)) for row in scores]
        samples = {f"m{m}": row for m, row in enumerate(rows)}
        sets.append(Fits(samples, frozenset(runs), True, size.overlap, 1 / size.sets))
    return sets


def shown_worse(standings: Standings, worse: ndarray) -> ndarray:
    """Return which row is shown to be worse than which column."""
    assert standings.errors is not None, "three replicates are tested"
    adjusted, at = worse_pairs(worse_p(standings.errors)), standings.decision.level
    places = open_places(worse, adjusted, at)
    shown = consequences(worse[:, None] & (adjusted <= at))
    sole = np.flatnonzero(places[:, 1] == 1)
    shown[:, sole] |= worse[:, None] & (len(sole) == 1)
    return shown


def evidence(sets: list[Fits], standings: Standings, worse: int) -> Evidence:
    """Return what decides the grade of the first method."""
    names = sorted(standings.means, key=lambda m: standings.means[m])
    scores = [np.array([list(of.samples[m].values()) for m in names]) for of in sets]
    weights = [of.weight for of in sets]
    without = first_without if len(sets) >= FEWEST_SETS else first_without_replicate
    others = {str(where): names[m] for where, m in without(scores, weights).items()}
    share = share_first(scores, weights)
    return Evidence(names[0], len(names) - 1, worse, others_first=others, share=share)


if __name__ == "__main__":
    main()

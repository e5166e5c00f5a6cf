"""Tests against the best method on a data set, on runs of the same folds and seeds."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

import numpy as np

from bnnbench.metrics.statistics import Samples, mean, replicates
from bnnbench.reports.judge.pairwise import FEWEST, all_pairs
from bnnbench.reports.judge.power import minimum_detectable_difference
from bnnbench.suites.engine.store.record import Record

LEVEL = 0.05
FEWEST_PAIRS = FEWEST


@dataclass(frozen=True)
class Verdict:
    """The best methods by mean, those not significantly worse, and why there may be none."""

    best: frozenset[str] = frozenset()
    close: frozenset[str] = frozenset()
    adjusted: Mapping[str, float] = field(default_factory=dict)
    """method → p-value of the comparison with the best, by Holm over all pairs of methods"""
    untested: str = ""
    """The reason why methods were not tested, or "" """
    detectable: Mapping[str, float] = field(default_factory=dict)
    """method → true difference from the best that these runs would detect with power 0.8"""
    detectable_in_std: float = math.nan
    """The median of `detectable` over methods, in standard deviations of the differences."""

    @property
    def worse(self) -> frozenset[str]:
        """The methods that are significantly worse than the best."""
        return frozenset(self.adjusted.keys() - self.close)


def compare(
    samples: Mapping[str, Samples],
    higher_is_better: bool | None,
    by_fold: bool,
    test_to_train: float | None,
) -> Verdict:
    """Return the verdict on a column of a table.

    Two-sided paired t tests against the best mean, corrected for the overlap of training sets
    (Nadeau and Bengio 2003) where there are folds, their variances moderated, then by Holm over
    all pairs of methods, as the best is chosen by the same data (see `all_pairs`).
    """
    if higher_is_better is None:
        return Verdict()
    means = {name: mean(replicates(s, by_fold)) for name, s in samples.items() if s}
    means = {name: value for name, value in means.items() if math.isfinite(value)}
    if not means:
        return Verdict()
    target = (max if higher_is_better else min)(means.values())
    best = frozenset(name for name, value in means.items() if value == target)
    rivals = [name for name in means if name not in best]
    if not rivals:
        return Verdict(best)
    if by_fold and test_to_train is None:
        return Verdict(best, untested="the records do not say how many rows were tested")
    ratio = (test_to_train or 0.0) if by_fold else 0.0
    names = list(means)
    pairs = all_pairs(*_arrays([samples[name] for name in names], by_fold), ratio)
    champion = names.index(min(best))
    at = {name: names.index(name) for name in rivals}
    at = {name: i for name, i in at.items() if pairs.tested[i, champion]}
    reason = f"fewer than {FEWEST_PAIRS} pairs of runs on the same folds and seeds"
    if not at:
        return Verdict(best, untested=reason)
    adjusted = {name: float(pairs.adjusted[i, champion]) for name, i in at.items()}
    level = LEVEL / int(pairs.tests)
    in_std = {
        name: minimum_detectable_difference(
            1.0, int(pairs.count[i, champion]), ratio, level,
            freedom=float(pairs.freedom[i, champion]),
        )
        for name, i in at.items()
    }  # fmt: skip
    sign = 1 if higher_is_better else -1
    close = frozenset(
        n for n, i in at.items() if adjusted[n] > LEVEL or sign * pairs.mean[i, champion] > 0
    )
    some_left = f"{reason}: {', '.join(n for n in rivals if n not in at)}"
    return Verdict(
        best,
        close,
        adjusted,
        some_left if len(at) < len(rivals) else "",
        {name: float(pairs.std[i, champion]) * in_std[name] for name, i in at.items()},
        median(in_std.values()),
    )


def holdout_ratio(records: Sequence[Record]) -> float | None:
    """Return the mean of test rows over train rows, None where the facts lack them.

    It measures the overlap of training sets. It is 0 for generated data, which are drawn anew for
    every fold, and for active learning, whose repeats take few rows out of a pool.
    """
    if records and all("pool_rows" in r.facts or r.origin == "generated" for r in records):
        return 0.0
    rows = [(r.facts.get("test_rows"), r.facts.get("train_rows")) for r in records]
    ratios = [
        test / train
        for test, train in rows
        if isinstance(test, int) and isinstance(train, int) and train > 0
    ]
    return mean(ratios) if ratios else None


def _arrays(samples: list[Samples], by_fold: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return values and presence of methods x folds x seeds; one fold unless it is by fold.

    NaN becomes infinite, which keeps such pairs from being tested.
    """
    runs = sorted({pair for of in samples for pair in of})
    if by_fold:
        folds, seeds = (sorted({pair[axis] for pair in runs}) for axis in (0, 1))
        place = {(f, s): (i, j) for i, f in enumerate(folds) for j, s in enumerate(seeds)}
        shape = (len(folds), len(seeds))
    else:
        place, shape = {pair: (0, j) for j, pair in enumerate(runs)}, (1, len(runs))
    values, present = np.zeros((len(samples), *shape)), np.zeros((len(samples), *shape), bool)
    for k, of in enumerate(samples):
        for pair, value in of.items():
            values[k][place[pair]] = math.inf if math.isnan(value) else value
            present[k][place[pair]] = True
    return values, present

"""Which methods are as good as the best, as far as runs on the same folds and seeds can tell."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from metrics.statistics import Samples, corrected_resampled_t, holm, mean, paired_t, replicates

LEVEL = 0.05
FEWEST_PAIRS = 3


@dataclass(frozen=True)
class Verdict:
    """The best methods by mean, those not significantly worse, and why there may be none."""

    best: frozenset[str] = frozenset()
    close: frozenset[str] = frozenset()
    adjusted: Mapping[str, float] = field(default_factory=dict)
    """method → p-value of the comparison with the best, after Holm's correction"""
    untested: str = ""
    """Why methods were not tested, or "" """


def differences(one: Samples, other: Samples, by_fold: bool) -> np.ndarray:
    """Return one - other over the folds and seeds that both have."""
    common = {pair: one[pair] - other[pair] for pair in one if pair in other}
    return np.array(replicates(common, by_fold))


def compare(
    samples: Mapping[str, Samples],
    higher_is_better: bool | None,
    by_fold: bool,
    test_to_train: float | None,
) -> Verdict:
    """Return the verdict on a column of a table.

    Two-sided paired t tests against the best mean, corrected for the overlap of training sets
    (Nadeau and Bengio 2003) where there are folds, then by Holm over the methods.
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
    ratio = test_to_train if by_fold and test_to_train else 0.0
    champion = samples[min(best)]
    gaps = {name: differences(samples[name], champion, by_fold) for name in rivals}
    gaps = {
        n: gap for n, gap in gaps.items() if len(gap) >= FEWEST_PAIRS and np.isfinite(gap).all()
    }
    few = f"fewer than {FEWEST_PAIRS} pairs of runs on the same folds and seeds"
    if not gaps:
        return Verdict(best, untested=few)
    raw = np.array([_p_value(gap, ratio) for gap in gaps.values()])
    adjusted = dict(zip(gaps, holm(raw).tolist(), strict=True))
    sign = 1 if higher_is_better else -1
    close = frozenset(n for n, p in adjusted.items() if p > LEVEL or sign * gaps[n].mean() > 0)
    some_left = f"{few}: {', '.join(n for n in rivals if n not in gaps)}"
    return Verdict(best, close, adjusted, some_left if len(gaps) < len(rivals) else "")


def _p_value(gap: np.ndarray, ratio: float) -> float:
    """Return the p-value of a paired difference; methods that never differ have 1."""
    if not gap.any():
        return 1.0
    return (corrected_resampled_t(gap, ratio) if ratio else paired_t(gap)).p_value

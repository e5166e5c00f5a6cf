"""One method compared with all others, by SciPy's paired tests and Holm's rule written out."""

import numpy as np
import pytest
from scipy import stats

from bnnbench.reports.judge.contest import Contest
from bnnbench.reports.judge.pairs import against


def contest(scores, higher=False):
    samples = {name: {(0, s): float(v) for s, v in enumerate(row)} for name, row in scores.items()}
    return Contest(samples, higher, by_fold=False)


def test_it_is_holm_over_paired_t_tests():
    rng = np.random.default_rng(0)
    gaps = {"own": 0.0, "far": 3.0, "near": 1.2, "best": -2.0}
    scores = {name: gap + 0.5 * rng.standard_normal(12) for name, gap in gaps.items()}
    found = against(contest(scores), "own")
    others = ["far", "near", "best"]
    p = [stats.ttest_rel(scores["own"], scores[name]).pvalue for name in others]
    order = np.argsort(p)
    adjusted, largest = {}, 0.0
    for rank, k in enumerate(order):
        largest = max(largest, min(1.0, (3 - rank) * p[k]))
        adjusted[others[k]] = largest
    sure = {name for name, value in adjusted.items() if value <= 0.05}
    worse = {n for n in sure if scores[n].mean() > scores["own"].mean()}
    assert set(found.beats) == worse
    assert set(found.loses_to) == sure - worse
    assert set(found.undecided) == set(others) - sure


@pytest.mark.parametrize("higher", [False, True])
def test_what_beats_and_loses_turns_with_the_direction(higher):
    rng = np.random.default_rng(1)
    scores = {n: g + 0.1 * rng.standard_normal(10) for n, g in (("a", 0), ("own", 5), ("b", 9))}
    found = against(contest(scores, higher), "own")
    assert (found.beats, found.loses_to) == ((("a",), ("b",)) if higher else (("b",), ("a",)))


def test_equal_scores_are_named_and_two_runs_test_nothing():
    rng = np.random.default_rng(2)
    row = rng.standard_normal(5)
    scores = {"own": row, "twin": row, "other": row + rng.standard_normal(5)}
    assert against(contest(scores), "own").identical == ("twin",)
    assert against(contest({n: v[:2] for n, v in scores.items()}), "own") is None

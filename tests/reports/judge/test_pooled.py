"""The decision over several data sets, by written-out formulas and simulation."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from bnnbench.reports.judge.participants import Exclusion
from bnnbench.reports.judge.pooled import Fits, decide_over, largest_correlation

RUNS = [(fold, 0) for fold in range(5)]


def fits(scores, weight=1.0, overlap=0.0, names=None, by_fold=True):
    """Return the fits of a matrix of scores, methods by runs."""
    names = names or [f"m{k}" for k in range(len(scores))]
    runs = RUNS if by_fold else [(0, seed) for seed in range(len(scores[0]))]
    samples = {
        name: dict(zip(runs, map(float, row), strict=False))
        for name, row in zip(names, scores, strict=True)
    }
    asked = frozenset(run for of in samples.values() for run in of)
    return Fits(samples, asked, by_fold, overlap, weight)


def test_two_methods_have_the_weighted_paired_test():
    rng = np.random.default_rng(0)
    sets = [rng.standard_normal((2, 5)) + np.array([[0.0], [1.0]]) for _ in range(3)]
    weights, overlap = (0.5, 0.3, 0.2), 0.1
    found = decide_over([fits(s, w, overlap) for s, w in zip(sets, weights, strict=True)], {}, None)
    gaps = [s[1] - s[0] for s in sets]
    mean = sum(w * g.mean() for w, g in zip(weights, gaps, strict=True))
    parts = [w**2 * g.var(ddof=1) * (1 / 5 + overlap) for w, g in zip(weights, gaps, strict=True)]
    freedom = sum(parts) ** 2 / sum(p**2 / 4 for p in parts)
    assert found.errors.mean[1, 0] == pytest.approx(mean, rel=1e-12)
    assert found.errors.squared_error[1, 0] == pytest.approx(sum(parts), rel=1e-12)
    assert found.errors.freedom[1, 0] == pytest.approx(freedom, rel=1e-12)
    p = stats.t.sf(mean / sum(parts) ** 0.5, freedom)
    assert found.decision.standings["m1"].adjusted_p == pytest.approx(min(1, 2 * p), rel=1e-9)


def test_the_order_of_methods_and_sets_changes_nothing():
    rng = np.random.default_rng(1)
    names = [f"m{k}" for k in range(8)]
    shift = np.linspace(0, 1, 8)[:, None]
    sets = [fits(shift + 0.2 * rng.standard_normal((8, 5)), w, 0.1) for w in (0.6, 0.4)]
    first = decide_over(sets, {}, 0.05).decision.standings
    order = rng.permutation(8)
    turned = [
        replace(f, samples={names[k]: f.samples[names[k]] for k in order}) for f in reversed(sets)
    ]
    second = decide_over(turned, {}, 0.05).decision.standings
    for name in names:
        assert first[name].state == second[name].state
        for value in ("adjusted_p", "equal_p"):
            one, other = getattr(first[name], value), getattr(second[name], value)
            assert one == (other if one is None else pytest.approx(other, rel=1e-9))


def test_a_method_that_failed_on_one_set_takes_no_part_on_any():
    rng = np.random.default_rng(2)
    sets = [fits(rng.standard_normal((3, 5)), 0.5) for _ in range(2)]
    barred = {"m0": Exclusion("unfinished", "one of five runs diverged")}
    found = decide_over(sets, barred, None)
    assert found.names == ("m1", "m2")
    assert found.decision.standings["m0"].state == "not eligible"


def test_a_method_without_half_of_the_runs_of_one_set_is_left_out_of_all():
    rng = np.random.default_rng(3)
    sets = [fits(rng.standard_normal((3, 5)), 0.5) for _ in range(2)]
    few = dict(list(sets[1].samples["m2"].items())[:2])
    sets[1] = replace(sets[1], samples={**sets[1].samples, "m2": few})
    found = decide_over(sets, {}, None)
    assert found.names == ("m0", "m1")
    assert found.decision.standings["m2"].excluded.reason == "has two of five runs"
    assert found.decision.replicates == 5


def test_methods_of_equal_scores_everywhere_are_one_candidate():
    rng = np.random.default_rng(4)
    scores = rng.standard_normal((3, 5))
    scores[2] = scores[0]
    found = decide_over([fits(scores, 0.5), fits(scores + 1, 0.5)], {}, None)
    assert found.decision.candidates == (("m0", "m2"), ("m1",))


@pytest.mark.long
@pytest.mark.parametrize(("methods", "wild"), [(15, False), (15, True), (8, False)])
def test_a_best_method_is_seldom_called_worse(methods, wild):
    """Equal methods, three sets of five splits; the level is 5 %, or 2 % for 6 to 11 methods."""
    rng = np.random.default_rng(5)
    spread = np.ones(methods)
    spread[0] = 8.0 if wild else 1.0
    false = 0
    for _ in range(300):
        shared = rng.standard_normal((3, 1, 5))
        noise = rng.standard_normal((3, methods, 5)) * spread[:, None] + shared
        sets = [fits(of, 1 / 3) for of in noise]
        standings = decide_over(sets, {}, None).decision.standings
        false += any(standing.worse for standing in standings.values())
    assert false / 300 < 0.08


def test_methods_that_are_far_behind_are_found():
    rng = np.random.default_rng(6)
    found = 0
    for _ in range(50):
        noise = rng.standard_normal((3, 10, 5))
        noise[:, 1:] += 3.0
        standings = decide_over([fits(of, 1 / 3) for of in noise], {}, None).decision.standings
        found += sum(standings[f"m{k}"].state == "worse" for k in range(1, 10))
    assert found / (50 * 9) > 0.95


def test_sets_that_are_cut_from_the_same_rows_have_the_error_of_full_correlation():
    """With the same scores on both, two sets give the decision of one."""
    scores = np.random.default_rng(7).standard_normal((2, 5))
    alone = decide_over([fits(scores)], {}, None).errors
    cut = [replace(fits(scores, 0.5), source="one file") for _ in range(2)]
    both = decide_over(cut, {}, None).errors
    for one, other in zip(alone, both, strict=True):
        np.testing.assert_allclose(one[0, 1], other[0, 1], rtol=1e-12)
    apart = decide_over([fits(scores, 0.5) for _ in range(2)], {}, None).errors
    assert apart.squared_error[0, 1] == pytest.approx(alone.squared_error[0, 1] / 2)


def test_sources_are_independent_of_each_other():
    rng = np.random.default_rng(8)
    scores = rng.standard_normal((3, 2, 5))
    sources = ("one file", "one file", None)
    sets = [replace(fits(s, 1 / 3), source=of) for s, of in zip(scores, sources, strict=True)]
    found = decide_over(sets, {}, None).errors
    std = [(s[1] - s[0]).std(ddof=1) / 5**0.5 / 3 for s in scores]
    parts = [(std[0] + std[1]) ** 2, std[2] ** 2]
    freedom = sum(parts) ** 2 / sum(part**2 / 4 for part in parts)
    assert found.squared_error[1, 0] == pytest.approx(sum(parts), rel=1e-12)
    assert found.freedom[1, 0] == pytest.approx(freedom, rel=1e-12)


@pytest.mark.long
@pytest.mark.parametrize(("source", "most"), [("one file", 0.08), (None, 1.0)])
def test_a_best_method_is_seldom_called_worse_where_sets_share_their_rows(source, most):
    """Four sets with the same noise; taken as independent, far more than 5 % are errors."""
    rng = np.random.default_rng(9)
    false = 0
    for _ in range(300):
        noise = rng.standard_normal((15, 5))
        sets = [replace(fits(noise, 1 / 4), source=source) for _ in range(4)]
        standings = decide_over(sets, {}, None).decision.standings
        false += any(standing.worse for standing in standings.values())
    assert false / 300 < most
    assert source or false / 300 > 0.15


@pytest.mark.parametrize(
    ("statistic", "sharp"),
    [(np.mean, True), (np.var, False), (np.max, False)],
    ids=["mean", "variance", "maximum"],
)
def test_no_symmetric_statistic_of_nested_sets_has_a_larger_correlation(statistic, sharp):
    """Ten disjoint sets of 4 and ten of 16 rows, from the first rows of 160; 20,000 files."""
    rows = np.random.default_rng(10).standard_normal((20_000, 160))
    means = [
        statistic(rows[:, : 10 * size].reshape(-1, 10, size), axis=2).mean(1) for size in (4, 16)
    ]
    bound = largest_correlation(10 * 4, 10 * 16)
    assert bound == 0.5
    found, error = np.corrcoef(means)[0, 1], 3 / 20_000**0.5
    assert found < bound + error
    assert not sharp or found > bound - error


def test_the_error_of_nested_sets_is_between_independence_and_full_correlation():
    rng = np.random.default_rng(11)
    scores = rng.standard_normal((2, 2, 5))
    sets = [
        replace(fits(s, 1 / 2), source="one file", rows=rows)
        for s, rows in zip(scores, (320, 1280), strict=True)
    ]
    a, b = ((s[1] - s[0]).std(ddof=1) / 5**0.5 / 2 for s in scores)
    squared = decide_over(sets, {}, None).errors.squared_error
    assert squared[0, 1] == pytest.approx(a**2 + b**2 + 2 * 0.5 * a * b, rel=1e-12)


def test_fewer_sets_of_more_rows_may_be_the_same_rows():
    """Ten sets of 4 and three of 16 rows share 40 rows of 48: sizes alone give no bound."""
    rows = np.random.default_rng(12).standard_normal((20_000, 48))
    few = rows[:, :40].reshape(-1, 10, 4).mean((1, 2))
    found = np.corrcoef(few, rows.mean(1))[0, 1]
    assert found == pytest.approx(largest_correlation(10 * 4, 3 * 16), abs=0.01)
    assert found > np.sqrt(4 / 16)


def test_sets_of_fewer_common_runs_are_counted_by_their_rows():
    rng = np.random.default_rng(13)
    scores = [rng.standard_normal((2, count)) for count in (5, 4)]
    sets = [
        replace(fits(s, 1 / 2), source="one file", rows=rows)
        for s, rows in zip(scores, (320, 640), strict=True)
    ]
    a, b = ((s[1] - s[0]).std(ddof=1) / len(s[0]) ** 0.5 / 2 for s in scores)
    squared = decide_over(sets, {}, None).errors.squared_error
    expected = a**2 + b**2 + 2 * (5 * 320 / (4 * 640)) ** 0.5 * a * b
    assert squared[0, 1] == pytest.approx(expected, rel=1e-12)

"""The expected best of n trials and its consequences, by arithmetic and enumeration."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from bnnbench.engine.declare.description import digest
from bnnbench.reports.judge.summaries.tuning import (
    Choice,
    Tuning,
    band,
    budgets_of,
    choices,
    expected_best,
)
from tests.engine.records.test_record import RECORD
from tests.methods.tuning.test_parts import a_search
from tests.records import changed

SCORES = (-1.25, -0.8, -2, -0.95, -0.7, -3.5, -0.9, -1.1)
OTHERS = (-1.2, -0.9, -1.9, -0.85, -0.95, -3, -0.8, -1.0)
OWN = (-1.4, -0.921428571428571, -0.820535714285714, -0.777142857142857)
OWN += (-0.749107142857143, -0.728571428571429, -0.7125, -0.7)
BY_OTHERS = (-1.4, -0.95, -0.891071428571429, -0.891428571428571)
BY_OTHERS += (-0.900892857142857, -0.907142857142857, -0.90625, -0.9)


@pytest.mark.parametrize(("sort_by", "expected"), [(SCORES, OWN), (OTHERS, BY_OTHERS)])
def test_vectors(sort_by, expected):
    ordered = [t for _, t in sorted(zip(sort_by, SCORES, strict=True))]
    assert expected_best(ordered) == pytest.approx(expected, abs=1e-12)


def test_it_is_the_mean_over_all_subsets():
    rng = np.random.default_rng(0)
    held_out, scores = rng.normal(size=(2, 7))
    ordered = [t for _, t in sorted(zip(held_out, scores, strict=True))]
    for n, value in enumerate(expected_best(ordered), 1):
        chosen = [max(c, key=lambda i: held_out[i]) for c in combinations(range(7), n)]
        assert value == pytest.approx(np.mean(scores[chosen]))


def a_run(fold, seed, held_out, tests, chosen, seconds=1.0):
    search = a_search(held_out)
    data = search.as_data() | {"seconds": [[seconds] * len(search.lengths)] * len(search.settings)}
    run = {**RECORD.run, "fold": fold, "seed": seed}
    return changed(
        RECORD,
        key=digest(run),
        run=run,
        fold=fold,
        seed=seed,
        status="completed",
        search=data,
        diagnostics={"chosen_trial": float(chosen), "skipped_settings": 0.0},
        trial_scores={str(t): {"rmse": value} for t, value in tests.items()},
    )


def a_tuning(*runs, floors=None):
    return Tuning("A", tuple(choices(runs)), floors or {})


def test_curves_average_seeds_and_then_show_each_fold():
    held_out = [[-2.0], [-1.0]]
    runs = [
        a_run(0, 0, held_out, {0: 5.0, 1: 3.0}, 1),
        a_run(0, 1, held_out, {0: 7.0, 1: 1.0}, 1),
        a_run(1, 0, held_out, {0: 4.0, 1: 6.0}, 1),
    ]
    curve = a_tuning(*runs).curve("rmse")
    assert curve is not None
    assert curve.tolist() == [[4.0, 2.0], [5.0, 6.0]]
    assert a_tuning(*runs).regret("rmse") == pytest.approx((0 + 0 + 2) / 3)
    assert a_tuning(*runs).curve("nll") is None


def test_a_search_by_halving_has_no_curve_and_no_regret():
    run = a_run(0, 0, [[-1.0], [-2.0]], {0: 1.0}, 0)
    whole, halved = (
        a_tuning(replace(run, run={"method": {"halving": halving}})) for halving in (False, True)
    )
    assert whole.curve("rmse") is not None
    assert whole.regret("rmse") == 0.0
    assert halved.curve("rmse") is None
    assert halved.regret("rmse") is None
    assert halved.within({0: 100.0}, "rmse") is None


def test_a_trial_that_diverged_has_the_floor():
    runs = [a_run(0, 0, [[np.nan], [-1.0]], {1: 3.0}, 1)]
    with_floor = a_tuning(*runs, floors={0: {"rmse": 9.0}}).curve("rmse")
    without = a_tuning(*runs).curve("rmse")
    assert with_floor is not None
    assert without is not None
    assert with_floor.tolist() == [[6.0, 3.0]]
    assert without.tolist() == [[3.0, 3.0]]


@pytest.mark.parametrize(
    ("given", "said"),
    [({}, ""), ({"noise_variance": [[0.1]]}, "noise"), ({"temperature": [[1.2]]}, "temperature")],
)
def test_it_says_what_held_out_rows_gave_besides_settings(given, said):
    run = a_run(0, 0, [[-1.0]], {0: 1.0}, 0)
    assert run.outcome.search is not None
    assert a_tuning(changed(run, search={**run.outcome.search, **given})).from_held_out_rows == said


def test_choices_on_edges_are_counted_by_fold():
    wide = [[-5.0, -1.0, -5.0]] + [[-9.0] * 3] * 9  # trial 0 of 10: place 0, an edge
    inside = [[-9.0] * 3] * 5 + [[-5.0, -1.0, -5.0]] + [[-9.0] * 3] * 4
    shortest = [[-9.0] * 3] * 5 + [[-1.0, -5.0, -5.0]] + [[-9.0] * 3] * 4
    one, two, three = (
        a_run(fold, 0, held_out, {}, chosen)
        for fold, (held_out, chosen) in enumerate([(wide, 0), (inside, 5), (shortest, 5)])
    )
    edges = [choice.edges for choice in choices([one, two, three])]
    assert edges == [["rate"], [], ["length"]]
    tuning = a_tuning(one, two, three)
    assert tuning.on_an_edge == pytest.approx(2 / 3)
    assert tuning.is_narrow
    assert tuning.medians() == {"rate": (0.5, 0.0, 0.5), "length": (50, 25, 50)}


def test_the_band_holds_the_mean_and_shrinks_with_folds():
    rng = np.random.default_rng(1)
    few, many = rng.normal(size=(5, 3)), rng.normal(size=(500, 3))
    for curves in (few, many):
        low, high = band(curves)
        assert (low <= curves.mean(0)).all()
        assert (curves.mean(0) <= high).all()
    low, high = band(many)
    assert high - low == pytest.approx(2 * 1.645 / np.sqrt(500), rel=0.15)


def test_seconds_agree_with_the_search():
    (choice,) = choices([a_run(0, 0, [[-1.0, -2.0]] * 4, {}, 0, seconds=2.5)])
    assert isinstance(choice, Choice)
    assert choice.seconds == 20.0


def test_equal_seconds_cut_trials_and_a_constant_stands_for_none():
    held_out = [[-3.0, -3.5], [-1.0, -2.0], [-0.5, -0.6]]
    run = a_run(0, 0, held_out, {0: 9.0, 1: 5.0, 2: 4.0}, 2, seconds=1.0)
    tuning = a_tuning(run, floors={0: {"rmse": 20.0}})
    assert budgets_of(tuning) == {0: 6.0}
    found = [tuning.within({0: seconds}, "rmse") for seconds in (1.9, 2.0, 4.5, 6.0, 99.0)]
    assert found == [20.0, 9.0, 5.0, 4.0, 4.0]
    assert a_tuning(run).within({0: 1.0}, "rmse") is None


@pytest.mark.parametrize(
    "damage",
    [{"places": [[0.5]] * 2}, {"error": [1.0]}, {"settings": "x"}, {"rows": []}, {"lengths": [1]}],
)
def test_a_search_that_cannot_be_read_is_left_out(damage):
    run = a_run(0, 0, [[-1.0, -2.0]] * 2, {}, 0)
    assert choices([run])
    assert choices([changed(run, search={**run.outcome.search, **damage})]) == []
    assert choices([changed(run, diagnostics={"chosen_trial": 7.0})]) == []
    assert choices([changed(run, diagnostics={})]) == []
    assert choices([a_run(0, 0, [[np.nan], [-1.0]], {}, 0)]) == []

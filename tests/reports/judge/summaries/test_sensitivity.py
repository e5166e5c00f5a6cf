"""The sensitivity of a method to its settings, by searches whose scores are known functions."""

import math
from dataclasses import replace

import numpy as np
import pytest

from bnnbench.reports.figures.of_suites.sensitivity import draw, line
from bnnbench.reports.judge.summaries.sensitivity import sensitivities
from bnnbench.reports.judge.summaries.tuning import Tuning, choices
from bnnbench.reports.style.palette import styles
from tests.reports.judge.summaries.test_tuning import a_run

PLACES = (np.arange(16) + 0.5) / 16


def tuning(*scores, settings=None):
    """Return the searches of a method, one a fold, whose trials lie at `PLACES`."""
    runs = []
    for fold, of_fold in enumerate(scores):
        run = a_run(fold, 0, of_fold, {}, int(np.nan_to_num(of_fold, nan=-9.0).max(1).argmax()))
        places = [{"inner.rate": float(u)} for u in PLACES]
        values = settings or [{"inner.rate": 10.0 ** (u - 3)} for u in PLACES]
        runs.append(replace(run, search=run.search | {"places": places, "settings": values}))
    return Tuning("SGD", tuple(choices(runs)), {})


def test_a_parabola_is_found_and_its_top_is_zero():
    scores = [[-((u - 0.7) ** 2)] for u in PLACES]
    (found,) = sensitivities(tuning(scores, [[s - 5] for (s,) in scores]))
    assert found.setting == "rate"
    assert found.ends == ("0.0011", "0.0093")
    best = (PLACES - 0.7) ** 2
    expected = np.tile(best.min() - best, (2, 1))
    assert found.deficits == pytest.approx(expected)  # a constant of a fold does not matter
    pairs = expected[0].reshape(8, 2).max(1)
    assert found.envelope() == pytest.approx(pairs)


def test_over_lengths_the_best_setting_counts():
    scores = [[-2.0, -1.0, -3.0]] + [[-1.5, -9.0, -9.0]] * 15
    rate, length = sensitivities(tuning(scores))
    assert length.deficits.tolist() == [[-0.5, 0.0, -2.0]]
    assert (length.setting, length.ends) == ("length", ("25", "100"))
    assert rate.deficits[0, :2].tolist() == [0.0, -0.5]
    assert line(length)[1].tolist() == [-0.5, 0.0, -2.0]


def test_trials_that_diverged_leave_gaps_only_where_no_other_is_near():
    scores = [[math.nan], [math.nan], [math.nan], *([-1.0] for _ in range(13))]
    (found,) = sensitivities(tuning(scores))
    assert np.isnan(found.envelope()).tolist() == [True, *[False] * 7]
    drawn = draw("SGD", [found], styles(["SGD"])["SGD"], "figure", "boston")
    assert "from diverged at 0.0011 to 0 at 0.0093" in drawn.svg


def test_a_single_trial_and_a_halved_search_say_nothing():
    run = a_run(0, 0, [[-1.0]], {}, 0)
    assert sensitivities(Tuning("SGD", tuple(choices([run])), {})) == []
    halved = replace(run, run=run.run | {"method": {"halving": True}})
    assert sensitivities(Tuning("SGD", tuple(choices([halved])), {})) == []


def test_values_that_are_no_numbers_are_named():
    values = [{"inner.rate": ("outputs",) if u < 0.5 else "none"} for u in PLACES]
    (found,) = sensitivities(tuning([[-1.0]] * 16, settings=values))
    assert found.ends == ("outputs", "none")

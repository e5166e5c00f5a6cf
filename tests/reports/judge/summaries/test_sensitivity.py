"""The sensitivity of a method to its settings, in searches with known score functions."""

import math
import re
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from markupsafe import Markup

from bnnbench.reports.figures import sensitivity as figures
from bnnbench.reports.figures.sensitivity import draw_sensitivity, line
from bnnbench.reports.judge.summaries.sensitivity import sensitivities
from bnnbench.reports.judge.summaries.tuning import Tuning, choices
from bnnbench.reports.style.palette import styles
from tests.records import changed
from tests.reports.judge.summaries.test_tuning import a_run

PLACES = (np.arange(16) + 0.5) / 16


def tuning(*scores, settings=None):
    """Return the searches of a method, one per fold, with trials at `PLACES`."""
    runs = []
    for fold, of_fold in enumerate(scores):
        run = a_run(fold, 0, of_fold, {}, int(np.nan_to_num(of_fold, nan=-9.0).max(1).argmax()))
        places = [{"inner.rate": float(u)} for u in PLACES]
        values = settings or [{"inner.rate": 10.0 ** (u - 3)} for u in PLACES]
        runs.append(
            changed(run, search=run.outcome.search | {"places": places, "settings": values})
        )
    return Tuning("SGD", tuple(choices(runs)), {})


def test_a_parabola_is_found_and_its_top_is_zero():
    scores = [[-((u - 0.7) ** 2)] for u in PLACES]
    (found,) = sensitivities(tuning(scores, [[s - 5] for (s,) in scores]))
    assert found.setting == "rate"
    assert found.ends == ("0.0011", "0.0093")
    best = (PLACES - 0.7) ** 2
    expected = np.tile(best.min() - best, (2, 1))
    assert found.deficits == pytest.approx(expected)  # a constant of a fold has no effect
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
    drawn = draw_sensitivity("SGD", {"boston": [found]}, styles(["SGD"])["SGD"], "figure")
    assert "on boston, rate from diverged at 0.0011 to 0 at 0.0093" in drawn.svg


def test_a_single_trial_and_a_halved_search_say_nothing():
    run = a_run(0, 0, [[-1.0]], {}, 0)
    assert sensitivities(Tuning("SGD", tuple(choices([run])), {})) == []
    halved = replace(run, run=run.run | {"method": {"halving": True}})
    assert sensitivities(Tuning("SGD", tuple(choices([halved])), {})) == []


def test_values_that_are_no_numbers_are_named():
    values = [{"inner.rate": ("outputs",) if u < 0.5 else "none"} for u in PLACES]
    (found,) = sensitivities(tuning([[-1.0]] * 16, settings=values))
    assert found.ends == ("outputs", "none")


def test_data_sets_share_a_figure_each_at_its_own_scale():
    (small,) = sensitivities(tuning([[-((u - 0.7) ** 2)] for u in PLACES]))
    (large,) = sensitivities(tuning([[-50 * (u - 0.7) ** 2] for u in PLACES]))
    drawn = draw_sensitivity(
        "SGD", {"boston": [small], "yacht": [large]}, styles(["SGD"])["SGD"], "figure"
    )
    assert ">boston<" in drawn.svg
    assert ">yacht<" in drawn.svg  # the legend
    deficits = np.sort(large.deficits.ravel())
    quarter = f"{-np.quantile(deficits, 0.25):.2g} nats on yacht"
    assert quarter in drawn.caption
    lines = re.findall(r'<path d="([^"]+)"[^>]*stroke-width: 1.3', drawn.svg)
    steps = [one for one in lines if one.count("L") > 2]  # not those of the legend
    assert len(steps) == 2
    assert steps[0] == steps[1]  # equal except for their scale


def test_large_settings_are_written_without_powers_of_ten():
    values = [{"inner.rate": 10.0 ** (6 * u)} for u in PLACES]
    (found,) = sensitivities(tuning([[-u] for u in PLACES], settings=values))
    assert found.ends == ("1.5", "649382")


def test_the_ends_of_an_axis_are_where_the_outermost_trials_lie():
    (one,) = sensitivities(tuning([[-((u - 0.7) ** 2)] for u in PLACES]))
    with patch.object(figures, "svg", return_value=Markup("")) as written:
        draw_sensitivity("SGD", {"boston": [one]}, styles(["SGD"])["SGD"], "figure")
    (axes,) = written.call_args[0][0].axes
    ticks = zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)
    assert [(place, label.get_text()) for place, label in ticks] == [
        (PLACES[0], "0.0011"),
        (PLACES[-1], "0.0093"),
    ]


def test_lengths_of_other_ladders_are_not_named_as_if_they_were_one():
    (_, length) = sensitivities(tuning([[-2.0, -1.0]] * 16))
    other = replace(length, ends=("5", "20"))
    drawn = draw_sensitivity("SGD", {"a": [length], "b": [other]}, styles(["SGD"])["SGD"], "figure")
    assert ">shortest<" in drawn.svg
    assert ">longest<" in drawn.svg


def test_a_search_is_read_once_for_the_seeds_of_a_fold():
    first = a_run(0, 0, [[-1.0], [-2.0]], {}, 0)
    seeds = [first, replace(first, seed=1), replace(first, fold=1)]
    other = changed(first, seed=2, search=a_run(0, 2, [[-3.0], [-2.0]], {}, 1).outcome.search)
    one, two, three = choices(seeds)
    assert one.search is two.search is not three.search
    *_, last = choices(
        [*seeds, changed(other, diagnostics=first.outcome.diagnostics | {"chosen_trial": 1})]
    )
    assert last.search.ranking[0] == 1

"""Axes that a few outliers cannot stretch, and the outliers at their edge."""

import math
import re

import numpy as np
import pytest

from bnnbench.reports.figures.canvas import drawing
from bnnbench.reports.figures.curves import draw_sizes
from bnnbench.reports.figures.limits import beyond, bound, robust_limits
from bnnbench.reports.sections.costs import Point, draw_costs
from bnnbench.reports.style.palette import styles
from tests.reports.drawings import texts

SCORES = {"AdamW": 2.4, "SGD": 2.5, "IVON": 2.6, "MFVI": 2.8, "Ensemble": 2.3}


def test_one_outlier_does_not_stretch_the_limits_and_the_best_value_always_counts():
    assert robust_limits([*SCORES.values(), 600.0], False) == (2.3, 2.8)
    assert robust_limits([*SCORES.values(), -600.0], False) == (-600.0, 2.8)
    assert robust_limits([*SCORES.values(), -600.0], True) == (2.3, 2.8)


@pytest.mark.parametrize("values", [
    [1.0, 2.0, 3.0],
    [1.0, 1.0, 1.0, 1.0, 2.0],
    [1.0, 2.0, 3.0, 4.0, 9.0],
    list(range(40)),
    [5.0] * 6,
])  # fmt: skip
def test_values_that_fill_the_axis_are_all_shown(values):
    for higher in (True, False):
        assert robust_limits(values, higher) == (min(values), max(values))


def test_limits_of_normal_values_are_their_range():
    rng = np.random.default_rng(0)
    for _ in range(200):
        values = rng.standard_normal(30)
        assert robust_limits(values, False) == (values.min(), values.max())


def test_up_to_a_quarter_of_the_values_may_be_far_out():
    """A masked outlier is one that another, still farther, would hide."""
    values = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 50.0, 5000.0]
    assert robust_limits(values, False) == (1.0, 1.5)
    assert robust_limits([*values, math.inf, math.nan], False) == (1.0, 1.5)
    assert robust_limits([math.nan], False) == (0.0, 1.0)


def test_those_beyond_are_named_the_farthest_first():
    far = beyond({**SCORES, "PBP": 60.0, "LA": 600.0, "HMC": math.nan}, (2.3, 2.8), False)
    assert list(far.items()) == [("LA", 600.0), ("PBP", 60.0)]
    assert beyond({**SCORES, "LA": -600.0}, (2.3, 2.8), True) == {"LA": -600.0}


@pytest.mark.parametrize("higher", [True, False])
def test_an_axis_ends_near_the_others_and_names_the_outlier_at_its_worse_edge(higher):
    sign = -1.0 if higher else 1.0
    values = {m: sign * v for m, v in {**SCORES, "LA": 600.0}.items()}
    with drawing(2.0) as figure:
        axes = figure.subplots()
        axes.plot(range(6), list(values.values()))
        said = bound(axes, values, (), higher)
        low, high = axes.get_ylim()
        (text,) = axes.texts
        middle = axes.transData.inverted().transform(text.get_window_extent().get_points()).mean(0)
    assert said == f"Beyond the edge: LA {'−' * higher}600."
    assert text.get_text() == f"LA {'−' * higher}600"
    assert high - low < 3 * (2.8 - 2.3)
    kept = [v for m, v in values.items() if m != "LA"]
    assert low < min(kept) < max(kept) < high
    assert (low < middle[1] < min(kept)) if higher else (max(kept) < middle[1] < high)


def test_an_axis_without_an_outlier_stays_as_it_is():
    with drawing(2.0) as figure:
        axes = figure.subplots()
        axes.plot(range(5), list(SCORES.values()))
        before = axes.get_ylim()
        assert bound(axes, SCORES, [2.9], False) == ""
        assert axes.get_ylim() == before
        assert not axes.texts


def tick_labels(svg):
    """Return the numbers that stand beside the axes of a drawing."""
    return [float(t.replace("−", "-")) for t in re.findall(r">([−\d.]+)</text>", svg)]


def test_figures_of_costs_and_of_sizes_keep_their_axes_and_name_the_outlier():
    by_method = {**SCORES, "LA": 600.0}
    points = {m: Point(1.0 + k, v, 0.1) for k, (m, v) in enumerate(by_method.items())}
    curves = {m: np.array([[v, v]]) for m, v in by_method.items()}
    drawn = [
        draw_costs(points, styles(by_method), "x", "here", ("s", "NLL")),
        draw_sizes(
            *(curves, np.arange(2.0), styles(by_method), "x", "here", ("size", "NLL")), False
        ),
    ]
    for drawing_ in drawn:
        assert "Beyond the edge: LA 600." in drawing_.caption
        assert texts(drawing_.svg, "LA") == ["LA 600"]
        assert max(tick_labels(drawing_.svg)) < 20


def test_a_long_error_bar_is_cut_and_its_method_stays():
    points = {m: Point(1.0, v, 300.0 if m == "MFVI" else 0.05) for m, v in SCORES.items()}
    drawn = draw_costs(points, styles(SCORES), "x", "here", ("s", "NLL"))
    assert max(tick_labels(drawn.svg)) < 20
    assert "Beyond" not in drawn.caption

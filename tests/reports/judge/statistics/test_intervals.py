"""Student's intervals, against the vectors of the specification and scipy."""

import numpy as np
import pytest
from scipy import stats

from bnnbench.reports.judge.statistics.intervals import standard_error, t_interval

VALUES = (3.1, 2.9, 3.4, 3.0, 3.3, 2.8, 3.2, 3.05, 2.95, 3.15)


@pytest.mark.parametrize(
    ("count", "overlap", "mean", "half_width"),
    [
        (3, 0, 3.1333333333, 0.6251609479),
        (5, 1 / 9, 3.14, 0.3211301484),
        (10, 1 / 9, 3.085, 0.1914189376),
        (10, 0, 3.085, 0.1317435481),
    ],
)
def test_the_vectors_of_the_specification(count, overlap, mean, half_width):
    found = t_interval(VALUES[:count], overlap)
    assert found is not None
    assert found.mean == pytest.approx(mean, rel=1e-9)
    assert found.half_width == pytest.approx(half_width, rel=1e-9)
    assert (found.low + found.high) / 2 == pytest.approx(mean, rel=1e-9)


def test_the_interval_agrees_with_scipy():
    found = t_interval(VALUES)
    expected = stats.t.interval(0.95, 9, np.mean(VALUES), stats.sem(VALUES))
    assert (found.low, found.high) == pytest.approx(expected)


@pytest.mark.parametrize("values", [[1.0], [1.0, np.inf], [np.nan, 1.0, 2.0]])
def test_one_value_and_infinite_ones_have_no_interval(values):
    assert t_interval(values) is None
    assert standard_error(values) is None


@pytest.mark.parametrize(
    ("count", "draw", "least"),
    [
        (3, lambda rng, n: rng.normal(size=n), 0.94),
        (5, lambda rng, n: rng.normal(size=n), 0.94),
        (20, lambda rng, n: rng.standard_t(3, size=n), 0.93),
    ],
)
def test_intervals_hold_the_mean_as_often_as_they_say(count, draw, least):
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(2000):
        found = t_interval(draw(rng, count).tolist())
        held += found.low <= 0 <= found.high
    assert least <= held / 2000 <= 0.97

"""The number of runs needed to decide, by the specification's vectors and simulation."""

import math

import numpy as np
import pytest
from scipy import special

from bnnbench.reports.judge.summaries.planning import Pair, plan, power

LEVEL, RIVALS = 0.05, 14


@pytest.mark.parametrize(
    ("numbers", "overlap", "left", "needed", "sure"),
    [
        ((0.02, 0.0004, 4, 3), 0, 5, (16, 9, 53), (33, 486)),
        ((0.02, 0.0004, 12, 3), 0, 5, (15, 10, 27), (31, 485)),
        ((0.5, 0.04, 4, 5), 1 / 9, 5, (8, 6, 109), (math.inf, math.inf)),
        ((0.1, 0.04, 4, 5), 1 / 9, 5, (math.inf,) * 3, (math.inf, math.inf)),
        ((0.15, 0.04, 19, 20), 1 / 9, 2, (math.inf,) * 3, (math.inf, math.inf)),
    ],
)
def test_the_vectors_of_the_specification(numbers, overlap, left, needed, sure):
    pair = Pair(*numbers, overlap=overlap)
    for margin, expected in zip((0.02, 0.005), sure, strict=True):
        found = plan(pair, LEVEL, left, RIVALS, margin)
        assert (found.needed, found.low, found.high) == needed
        assert found.sure == expected


def test_the_power_of_the_second_row():
    pair, alpha = Pair(0.02, 0.0004, 12, 3), LEVEL / 20
    assert power(pair, 14, alpha) == pytest.approx(0.7994811040, rel=1e-9)
    assert power(pair, 15, alpha) == pytest.approx(0.8351541449, rel=1e-9)


def test_far_out_the_power_is_one():
    assert power(Pair(1e3, 1e-6, 4, 3), 50, 0.001) == 1.0
    assert power(Pair(0.1, 0.0, 4, 3), 50, 0.001) == 1.0


def test_too_few_test_points_are_not_mended_by_seeds():
    pair = Pair(0.004, 1e-4, 6, 3, fixed=4e-6, fixed_parts=4e-6**2 / 1999)
    found = plan(pair, LEVEL, 5, RIVALS, None)
    assert math.isinf(found.needed)
    assert found.points_limit
    enough = Pair(0.02, 1e-4, 6, 3, fixed=4e-6, fixed_parts=4e-6**2 / 1999)
    assert plan(enough, LEVEL, 5, RIVALS, None).needed < 20


def test_the_power_agrees_with_a_simulation():
    rng, runs, std = np.random.default_rng(0), 8, 0.1
    draws = 0.1 + std * rng.normal(size=(40_000, runs))
    t = draws.mean(1) / (draws.std(1, ddof=1) / math.sqrt(runs))
    found = (t > special.stdtrit(runs - 1, 0.99)).mean()
    # A variance with n - 1 degrees of freedom, whose number grows with the runs.
    assert power(Pair(0.1, std**2, 2, 3), runs, 0.01) == pytest.approx(found, abs=0.01)

import numpy as np
import pytest

from bnnbench.metrics.active_learning import area, final_value, share_of_wins

CURVE = np.array([10, 9, 8.5, 7, 6.5, 6, 5.8, 5.5, 5.4, 5.3])


def test_the_area_and_final_value_of_the_specified_curve():
    assert area(CURVE) == pytest.approx(6.8166666667, abs=1e-10)
    assert final_value(CURVE) == 5.3


def test_the_area_of_a_constant_curve_is_its_value_however_long_it_is():
    assert area(np.full((3, 2), 4.0)).tolist() == [4, 4, 4]
    assert area(np.full(40, 4.0)) == pytest.approx(4)


def test_repeats_are_taken_one_by_one():
    np.testing.assert_allclose(area(np.stack([CURVE, 2 * CURVE])), [area(CURVE), 2 * area(CURVE)])
    assert final_value(np.stack([CURVE, 2 * CURVE])).tolist() == [5.3, 10.6]


def test_a_curve_without_acquisitions_has_no_area():
    with pytest.raises(ValueError, match="at least one acquisition"):
        area(np.array([3.0]))


def test_a_tie_is_no_win():
    active, random = np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 2.0, 2.0, 5.0])
    assert share_of_wins(active, random) == 0.5
    assert share_of_wins(active, random, higher_is_better=True) == 0.25


def test_repeats_that_are_not_paired_are_refused():
    with pytest.raises(ValueError, match="3 active, 2 random"):
        share_of_wins(np.zeros(3), np.zeros(2))

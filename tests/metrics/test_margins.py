"""Margins of practical equality: their units, and which metrics have one."""

import math

import pytest

from bnnbench.metrics import LISTED
from bnnbench.metrics.base import Margin


@pytest.mark.parametrize(
    ("margin", "best", "expected"),
    [
        (Margin(0.005), 0.9, 0.005),
        (Margin(0.02, relative=True), 3.0, 0.06),
        (Margin(0.02, relative=True), -3.0, 0.06),
        (Margin(0.02, relative=True), 0.0, None),
        (Margin(0.02, relative=True), math.inf, None),
    ],
)
def test_a_margin_in_the_unit_of_the_score(margin, best, expected):
    assert margin.absolute(best) == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize("size", [0.0, -0.1, math.nan, math.inf])
def test_a_margin_is_a_positive_number(size):
    with pytest.raises(ValueError, match="positive"):
        Margin(size)


def test_a_log_likelihood_has_another_margin_for_real_targets():
    metric = LISTED["log_likelihood"]
    assert metric.margin_for(real_targets=False) == Margin(0.01)
    assert metric.margin_for(real_targets=True) == Margin(0.02)
    assert LISTED["rmse"].margin_for(real_targets=True) == Margin(0.02, relative=True)
    assert LISTED["fpr95_in"].margin_for(real_targets=False) is None


def test_only_metrics_with_a_direction_have_a_margin():
    assert all(m.higher_is_better is not None for m in LISTED.values() if m.margin)


@pytest.mark.parametrize("name", ["joint_log_loss", "joint_log_loss_dyadic"])
def test_ten_points_together_have_ten_times_the_margin_of_one(name):
    joint, single = LISTED[name], LISTED["nll"]
    assert joint.margin.size == pytest.approx(10 * single.margin.size)
    assert joint.margin_of_reals.size == pytest.approx(10 * single.margin_of_reals.size)

"""Widening of intervals by shared rows, compared with simulated splits of known truth."""

import numpy as np
import pytest

from bnnbench.reports.judge.statistics.intervals import t_interval
from bnnbench.reports.read.overlap import overlap_of
from tests.reports.synthetic import record

YACHT = {"train_rows": 20, "test_rows": 100, "pool_rows": 188}


def overlap(**facts):
    return overlap_of([record(fold=fold, facts=facts) for fold in range(3)])


def test_splits_of_all_rows_overlap_by_the_ratio_of_test_to_training_rows():
    assert overlap(train_rows=90, test_rows=10) == pytest.approx(1 / 9)


def test_few_rows_out_of_many_hardly_overlap():
    assert overlap(train_rows=20, test_rows=100, pool_rows=45_610) == pytest.approx(120 / 45_610)
    assert overlap(**YACHT) == pytest.approx(120 / 188)


def test_a_small_pool_does_not_widen_beyond_splits_of_all_rows():
    assert overlap(train_rows=90, test_rows=10, pool_rows=1) == pytest.approx(1 / 9)
    assert overlap(train_rows=90, test_rows=10, pool_rows=0) == pytest.approx(1 / 9)


def test_what_shares_nothing_has_no_overlap_and_unknown_rows_have_none():
    drawn = [record(fold=fold, origin="generated", facts=YACHT) for fold in range(3)]
    assert overlap_of(drawn) == 0.0
    assert overlap(**YACHT, disjoint_training_sets=4) == 0.0
    assert overlap(train_rows=20) is None
    assert overlap_of([]) is None


@pytest.mark.long
def test_intervals_over_repeats_out_of_a_pool_hold_the_truth_as_often_as_they_say():
    """The mean of the labelled rows is compared with 0, by squared error at the test rows."""
    rng = np.random.default_rng(0)
    train, test, rows, mean, repeats = 20, 100, 308, 0.5, 40
    truth = 1 / train - mean**2
    held = {"overlapping": 0, "independent": 0, "all rows": 0}
    widths = {"overlapping": overlap(**YACHT), "independent": 0.0, "all rows": test / train}
    for _ in range(1000):
        labels = mean + rng.normal(size=rows)
        orders = [rng.permutation(rows)[: train + test] for _ in range(repeats)]
        gaps = [
            float(((labels[o[train:]] - labels[o[:train]].mean()) ** 2).mean()
                  - (labels[o[train:]] ** 2).mean())
            for o in orders
        ]  # fmt: skip
        for name, width in widths.items():
            found = t_interval(gaps, width)
            held[name] += found.low <= truth <= found.high
    assert held["overlapping"] >= 950
    assert held["independent"] < 900
    assert held["all rows"] == 1000

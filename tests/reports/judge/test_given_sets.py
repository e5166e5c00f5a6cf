"""How firmly a first method stands on given data sets: by hand, and against numpy's own draws."""

import numpy as np
import pytest

from bnnbench.reports.judge.given_sets import (
    FEWEST_REPLICATES,
    first_without,
    first_without_replicate,
    redraws_within,
    share_first,
)


def test_another_method_is_first_without_the_set_that_carries_the_first():
    sets = [np.array([[0.0], [3.0]]), np.array([[1.0], [0.5]]), np.array([[1.0], [0.5]])]
    assert first_without(sets, [1 / 3] * 3) == {0: 1}
    assert first_without(sets[:2], [0.5] * 2) == {}  # too few sets to leave one out


def test_a_replicate_is_left_out_of_its_own_set():
    sets = [np.array([[0.0, 2.0, 2.0], [1.5, 1.5, 1.5]])]
    assert first_without_replicate(sets, [1.0]) == {(0, 0): 1}


def test_redraws_have_the_moments_of_draws_with_replacement():
    drawn = redraws_within((5, 12), 4_000)
    for counts, size in zip(drawn, (5, 12), strict=True):
        assert (counts.sum(1) == size).all()
        assert counts.mean(0) == pytest.approx(1.0, abs=0.07)
        assert counts.var(0) == pytest.approx(1 - 1 / size, abs=0.1)


def test_the_share_of_redraws_agrees_with_a_bootstrap_by_numpy():
    rng = np.random.default_rng(0)
    sets = [rng.normal(size=(3, 12)) + np.array([[0.0], [0.2], [0.4]]), rng.normal(size=(3, 20))]
    means = sum(of.mean(1) for of in sets)
    sets = [of[np.argsort(means)] for of in sets]
    wins = []
    for _ in range(4_000):
        chosen = [of[:, rng.integers(of.shape[1], size=of.shape[1])] for of in sets]
        wins.append(sum(of.mean(1) for of in chosen).argmin() == 0)
    assert share_first(sets, [0.5, 0.5]) == pytest.approx(np.mean(wins), abs=0.05)


def test_few_replicates_are_not_redrawn():
    of = np.zeros((2, FEWEST_REPLICATES - 1))
    assert share_first([of, np.zeros((2, 40))], [0.5, 0.5]) is None

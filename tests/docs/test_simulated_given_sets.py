"""The stored simulation of given data sets keeps its levels, and a small one agrees with it."""

import numpy as np
import pandas as pd
import pytest

from docs.generate.simulated_given_sets import FILE, Size, Truth, rates


@pytest.fixture(scope="module")
def stored():
    return pd.read_csv(FILE)


def test_the_level_is_kept_and_the_grade_best_is_right(stored):
    level = 0.05 + 2 * np.sqrt(0.05 * 0.95 / stored.repetitions)
    assert len(stored) >= 35
    assert (stored["a best one called worse"] <= level).all()
    assert (stored["some pair of places wrong"] <= 0.1).all()  # two procedures at level .05
    assert stored["best"].str.split(" / ").str[1].astype(float).max() <= 0.005


@pytest.mark.long
@pytest.mark.parametrize("size", [Size(3, 5, 1 / 9), Size(1, 6)])
def test_a_small_simulation_keeps_the_level_and_finds_the_inferior_half(size):
    truth = Truth("half", np.where(np.arange(15) % 2, 4.0, 0.0))
    found = rates(truth, size, 150)
    # of 150 verdicts at level .05, more than 15 are false with a probability below .01
    assert float(found["a best one called worse"]) <= 15 / 150
    assert float(found["inferior ones found"]) > 0.8

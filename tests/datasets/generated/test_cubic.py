"""Generated problems: the distribution that they state, and the form of every other source."""

import numpy as np
import pytest
import torch
from scipy import stats

from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.generated.curves import Cubic, CubicGap
from bnnbench.datasets.resolve import resolve

SOURCES = [Cubic(), CubicGap()]


@pytest.fixture(params=SOURCES, ids=lambda source: source.name)
def source(request):
    return request.param


def all_rows(source, part):
    tables = [source.table(fold) for fold in range(source.folds)]
    inputs = np.concatenate([getattr(table, f"{part}_inputs")[:, 0] for table in tables])
    return inputs, np.concatenate([getattr(table, f"{part}_targets") for table in tables])


def test_inputs_of_the_cubic_are_uniform_from_minus_4_to_4():
    x, _ = all_rows(Cubic(), "train")
    assert len(x) == 20 * Cubic().folds
    assert stats.kstest(x, stats.uniform(-4, 8).cdf).pvalue > 0.01


def test_inputs_beside_the_gap_are_uniform_on_either_side():
    x, _ = all_rows(CubicGap(), "train")
    assert (x < 0).sum() == (x > 0).sum() == 10 * CubicGap().folds
    assert stats.kstest(np.abs(x), stats.uniform(0.5, 0.5).cdf).pvalue > 0.01


@pytest.mark.parametrize(("source", "variance"), [(Cubic(), 9.0), (CubicGap(), 0.01)])
@pytest.mark.parametrize("part", ["train", "test"])
def test_noise_around_the_cube_is_gaussian_of_the_stated_variance(source, variance, part):
    x, y = all_rows(source, part)
    assert stats.kstest(y - x**3, stats.norm(0, variance**0.5).cdf).pvalue > 0.01


def test_the_test_grid_is_even_symmetric_and_reaches_beyond_the_training_inputs(source):
    table = source.table(3)
    grid = table.test_inputs[:, 0]
    np.testing.assert_allclose(np.diff(grid), np.diff(grid)[0])
    np.testing.assert_allclose(grid, -grid[::-1], atol=1e-12)
    assert grid[-1] > np.abs(table.train_inputs).max() * 1.4


def test_a_fold_is_equal_on_every_call_and_unlike_the_others(source):
    one, again, other = source.table(4), type(source)().table(4), source.table(5)
    np.testing.assert_array_equal(one.train_targets, again.train_targets)
    assert not np.isin(other.train_inputs, one.train_inputs).any()
    assert not np.isin(other.test_targets, one.test_targets).any()


def test_training_rows_are_standardised_and_the_truth_is_the_cube(source):
    data = source.load(0)
    assert data.train.inputs.mean().abs() < 1e-6
    assert data.train.targets.std(correction=0) == pytest.approx(1, abs=1e-6)
    inputs = data.scaling.invert(data.test.inputs).double()
    truth = data.target.mean + data.target.std * data.truth.double()
    torch.testing.assert_close(truth, inputs**3, rtol=1e-4, atol=1e-4)


def test_the_origin_says_that_no_file_is_behind_it(source):
    assert source.load(0).origin == "generated"
    assert "x³" in source.load(0).facts["law"]
    for policy in ("auto", "original", "stand-in"):
        assert resolve(source, policy, offline=True) is source
    assert Limited(source, train=5).load(0).origin == "subset"

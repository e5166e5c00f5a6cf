"""The noisy sine: its distribution, its grids, and whether methods know its noise."""

import numpy as np
import pytest
import torch
from scipy import stats

from bnnbench.datasets.base import Gaussian
from bnnbench.datasets.cuts.held_out import HeldOut
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.generated.curves import Sine, SineFar

SOURCES = [Sine(), SineFar()]
# 0.2 sin 2πx + 0.3 sin 4πx at eighths, by hand: the sines are 0, ±1 or ±√½.
ROOT = 0.5**0.5
KNOWN = {
    -0.25: -0.125 - 0.2,
    0.0: 0.0,
    0.125: 0.0625 + 0.2 * ROOT + 0.3,
    0.25: 0.125 + 0.2,
    0.375: 0.1875 + 0.2 * ROOT - 0.3,
    1.625: 0.8125 - 0.2 * ROOT + 0.3,
    -20.0: -10.0,
}


@pytest.fixture(params=SOURCES, ids=lambda source: source.name)
def source(request):
    return request.param


def test_the_true_function_is_the_stated_one(source):
    x = np.array(list(KNOWN))
    np.testing.assert_allclose(source.function(x), list(KNOWN.values()), atol=1e-12)


@pytest.mark.parametrize(("source", "low", "width"), [(Sine(), 0, 2), (SineFar(), -0.5, 1)])
def test_inputs_are_uniform_over_the_stated_range(source, low, width):
    tables = [source.table(fold) for fold in range(20)]
    x = np.concatenate([table.train_inputs[:, 0] for table in tables])
    assert all(len(table.train_targets) == 200 for table in tables)
    assert stats.kstest(x, stats.uniform(low, width).cdf).pvalue > 0.01


@pytest.mark.parametrize("part", ["train", "test"])
def test_noise_is_gaussian_with_the_stated_deviation(source, part):
    tables = [source.table(fold) for fold in range(20)]
    x, y = (
        np.concatenate([getattr(table, f"{part}_{what}").ravel() for table in tables])
        for what in ("inputs", "targets")
    )
    residual = y - 0.5 * x - 0.2 * np.sin(2 * np.pi * x) - 0.3 * np.sin(4 * np.pi * x)
    assert stats.kstest(residual, stats.norm(0, 0.05).cdf).pvalue > 0.01


@pytest.mark.parametrize(
    ("source", "margin", "step"), [(Sine(), 1.5, 0.025), (SineFar(), 20, 0.05)]
)
def test_the_grid_is_even_and_reaches_beyond_the_training_inputs_on_both_sides(
    source, margin, step
):
    table = source.table(3)
    grid = table.test_inputs[:, 0]
    np.testing.assert_allclose(np.diff(grid), step)
    assert grid[0] == pytest.approx(table.train_inputs.min() - margin)
    assert 0 <= table.train_inputs.max() + margin - grid[-1] < step


def test_a_grid_that_divides_its_range_ends_at_its_end():
    inputs = np.array([-0.5, 0.1, 0.5])
    grid = SineFar().grid(inputs)
    assert len(grid) == 821
    assert (grid[0], grid[-1]) == pytest.approx((-20.5, 20.5))


@pytest.mark.parametrize("derive", [lambda s: s, HeldOut, lambda s: Limited(s, train=50)])
def test_methods_are_told_the_noise_in_standardised_units(source, derive):
    data = derive(source).load(1)
    assert isinstance(data.likelihood, Gaussian)
    assert data.likelihood.noise_std * data.target.std == pytest.approx(0.05)


def test_the_truth_is_the_function_at_the_test_inputs(source):
    data = source.load(2)
    x = data.scaling.invert(data.test.inputs.double())
    truth = data.target.mean + data.target.std * data.truth.double()
    expected = 0.5 * x + 0.2 * torch.sin(2 * torch.pi * x) + 0.3 * torch.sin(4 * torch.pi * x)
    torch.testing.assert_close(truth, expected, rtol=1e-4, atol=1e-4)


def test_the_origin_says_that_a_law_is_behind_it(source):
    assert source.load(0).origin == "generated"
    assert "sin" in source.load(0).facts["law"]
    assert Limited(source, train=5).load(0).origin == "subset"

"""Compared with vectors by quadrature, the joint Gaussian of a window, limits."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from bnnbench.methods.message_passing.factors import max_pool
from bnnbench.methods.message_passing.gaussian import Gaussian
from tests.methods.message_passing.factors.messages import (
    DTYPES,
    assert_position_does_not_matter,
    dtypes,
    extreme,
    gaussian,
    of_extremes,
    random_messages,
)


def weights(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Return the normalised probabilities that each input exceeds every other, one at a time."""
    wins = [
        np.prod([
            ndtr((mean[j] - mean[i]) / np.sqrt(variance[i] + variance[j] + 0.3))
            for i in range(len(mean))
            if i != j
        ])
        for j in range(len(mean))
    ]  # fmt: skip
    return np.array(wins) / sum(wins)


@pytest.mark.parametrize("dtype", DTYPES)
def test_four_equal_means_give_the_mean_of_the_inputs(dtype):
    z = gaussian([[0.0, 0.0], [0.0, 0.0]], [[2.0, 0.5], [1e-3, 10.0]], dtype)
    out = max_pool.forward(z, 2)
    assert out.mean.item() == 0
    assert out.variance.item() == pytest.approx(0.7813125, rel=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_dominant_input_passes_through_both_ways(dtype):
    z = gaussian([[50.0, 0.0], [1.0, -2.0]], [[2.0, 1.0], [1.0, 1.0]], dtype)
    back = gaussian([[49.0]], [[0.5]], dtype)
    out, down = max_pool.forward(z, 2), max_pool.backward(z, back, 2)
    relative = 1e-12 if dtype is torch.float64 else 1e-6
    assert out.mean.item() == pytest.approx(50, rel=relative)
    assert out.variance.item() == pytest.approx(2, rel=relative)
    assert down.tau[0, 0].item() == pytest.approx(98, rel=relative)
    assert down.rho[0, 0].item() == pytest.approx(2, rel=relative)
    assert (down.rho.flatten()[1:] < 1e-30).all()


@pytest.mark.parametrize("size", [2, 3])
def test_windows_are_weighted_sums_of_the_probabilities_to_win(size):
    z, back = random_messages(2, 7, 6, seed=1), random_messages(2, 7 // size, 6 // size, seed=2)
    out, down = max_pool.forward(z, size), max_pool.backward(z, back, size)
    for image in range(2):
        for row in range(7 // size):
            for column in range(6 // size):
                window = (image, slice(row * size, (row + 1) * size),
                          slice(column * size, (column + 1) * size))  # fmt: skip
                place = (image, row, column)
                mean, variance = z.mean[window].flatten(), z.variance[window].flatten()
                c = torch.tensor(weights(mean.numpy(), variance.numpy()))
                torch.testing.assert_close(out.mean[place], c @ mean)
                torch.testing.assert_close(out.variance[place], c**2 @ variance)
                precision = torch.diag(1 / variance) + back.rho[place] * torch.outer(c, c)
                covariance = torch.linalg.inv(precision)
                posterior = covariance @ (mean / variance + back.tau[place] * c)
                marginal = (down * z)[window]
                torch.testing.assert_close(marginal.mean.flatten(), posterior)
                torch.testing.assert_close(marginal.variance.flatten(), covariance.diagonal())


def test_the_dropped_border_is_told_nothing():
    z, back = random_messages(3, 5, 7, seed=3), random_messages(3, 2, 3, seed=4)
    down = max_pool.backward(z, back, 2)
    for border in (down[:, 4:], down[:, :, 6:]):
        assert (border.tau == 0).all()
        assert (border.rho == 0).all()
    assert (down.rho[:, :4, :6] > 0).all()


def test_an_input_smaller_than_a_window_is_refused():
    with pytest.raises(ValueError, match="needed inputs of at least"):
        max_pool.forward(random_messages(1, 4, seed=1), 2)


@given(z=st.lists(extreme, min_size=4, max_size=4), back=extreme, dtype=dtypes)
@settings(max_examples=200)
def test_no_message_is_ever_invalid(z, back, dtype):
    z, back = of_extremes(z, dtype), of_extremes([back], dtype)
    z = Gaussian(z.tau.view(2, 2), z.rho.view(2, 2))
    back = Gaussian(back.tau.view(1, 1), back.rho.view(1, 1))
    assert max_pool.forward(z, 2).is_valid().all()
    assert max_pool.backward(z, back, 2).is_valid().all()


def test_float32_agrees_with_float64():
    z = random_messages(20, 6, 6, seed=5, dtype=torch.float32)
    back = random_messages(20, 3, 3, seed=6, dtype=torch.float32)
    wide_z, wide_back = (Gaussian(m.tau.double(), m.rho.double()) for m in (z, back))
    for narrow, wide in (
        (max_pool.forward(z, 2), max_pool.forward(wide_z, 2)),
        (max_pool.backward(z, back, 2), max_pool.backward(wide_z, wide_back, 2)),
    ):
        torch.testing.assert_close(narrow.tau.double(), wide.tau, rtol=1e-7, atol=1e-35)
        torch.testing.assert_close(narrow.rho.double(), wide.rho, rtol=1e-7, atol=1e-35)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_result_of_an_image_does_not_depend_on_its_place(dtype):
    z, back = (random_messages(5, 3, n, n, seed=n, dtype=dtype) for n in (7, 3))
    assert_position_does_not_matter(lambda z: max_pool.forward(z, 2), z)
    assert_position_does_not_matter(lambda z, back: max_pool.backward(z, back, 2), z, back)

"""Compared with the joint Gaussian of a window."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bnnbench.methods.message_passing.factors import average_pool
from bnnbench.methods.message_passing.gaussian import Gaussian
from tests.methods.message_passing.factors.messages import (
    DTYPES,
    assert_position_does_not_matter,
    dtypes,
    extreme,
    of_extremes,
    random_messages,
)


@pytest.mark.parametrize(("height", "width", "size"), [(3, 4, None), (4, 4, 2), (3, 3, 3)])
def test_both_directions_agree_with_the_mean_of_a_window(height, width, size):
    z = random_messages(height, width, seed=1)
    rows, columns = size or height, size or width
    back = random_messages(height // rows, width // columns, seed=2)
    out, down = average_pool.forward(z, size), average_pool.backward(z, back, size)
    assert out.shape == back.shape
    for row in range(height // rows):
        for column in range(width // columns):
            window = (slice(row * rows, (row + 1) * rows),
                      slice(column * columns, (column + 1) * columns))  # fmt: skip
            mean, variance = z.mean[window].flatten(), z.variance[window].flatten()
            c = torch.full_like(mean, 1 / len(mean))
            place = (row, column)
            torch.testing.assert_close(out.mean[place], mean.mean())
            torch.testing.assert_close(out.variance[place], c**2 @ variance)
            precision = torch.diag(1 / variance) + back.rho[place] * torch.outer(c, c)
            covariance = torch.linalg.inv(precision)
            posterior = covariance @ (mean / variance + back.tau[place] * c)
            marginal = (down * z)[window]
            torch.testing.assert_close(marginal.mean.flatten(), posterior)
            torch.testing.assert_close(marginal.variance.flatten(), covariance.diagonal())


@pytest.mark.parametrize("size", [2, None])
def test_precisions_are_floored(size):
    z = random_messages(4, 4, seed=3)
    shape = (2, 2) if size else (1, 1)
    down = average_pool.backward(z, Gaussian.uniform(*shape, pattern=z.rho), size)
    assert (down.tau == 0).all()
    assert (down.rho == 1e-8).all()
    wide = Gaussian(z.tau * 1e-12, z.rho * 1e-12)
    out = average_pool.forward(wide, size)
    assert (out.rho == 1e-8).all()
    torch.testing.assert_close(out.mean, average_pool.forward(z, size).mean)


def test_the_dropped_border_is_told_nothing():
    z, back = random_messages(5, 5, seed=4), random_messages(2, 2, seed=5)
    down = average_pool.backward(z, back, 2)
    assert (down.rho[4] == 0).all()
    assert (down.rho[:, 4] == 0).all()
    assert (down.rho[:4, :4] > 0).all()


@given(z=st.lists(extreme, min_size=4, max_size=4), back=extreme, dtype=dtypes)
@settings(max_examples=200)
def test_no_message_is_ever_invalid(z, back, dtype):
    z, back = of_extremes(z, dtype), of_extremes([back], dtype)
    z = Gaussian(z.tau.view(2, 2), z.rho.view(2, 2))
    back = Gaussian(back.tau.view(1, 1), back.rho.view(1, 1))
    assert average_pool.forward(z, None).is_valid().all()
    assert average_pool.backward(z, back, None).is_valid().all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [2, None])
def test_the_result_of_an_image_does_not_depend_on_its_place(dtype, size):
    z = random_messages(5, 4, 4, seed=6, dtype=dtype)
    back = random_messages(5, *((2, 2) if size else (1, 1)), seed=7, dtype=dtype)
    assert_position_does_not_matter(lambda z: average_pool.forward(z, size), z)
    assert_position_does_not_matter(lambda z, back: average_pool.backward(z, back, size), z, back)

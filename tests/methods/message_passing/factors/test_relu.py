"""Compared with quadrature, and with the limit of decreasing slopes."""

import pytest
import torch

from bnnbench.methods.message_passing.factors import leaky_relu, relu
from bnnbench.methods.message_passing.gaussian import Gaussian
from tests.methods.message_passing.factors.messages import DTYPES, gaussian, random_messages
from tests.methods.message_passing.factors.test_leaky_relu import exact_marginals, relative

# Mean and variance of z and of the message from a; (tau, rho) to a, or None if the exact
# quotient is less precise than z and the direct message is used; (tau, rho) to z. By quadrature.
VECTORS = [
    ((1, 1, 1, 1), (1.0835932, 1.1492677), (0.38140615, 0.53172982)),
    ((0, 1, 0, 1), (1.5324920, 5.5576592), (-0.31653982, 0.35449987)),
    ((-0.5, 2, 0.8, 0.25), None, (0.11419437, 0.14241130)),
    ((10, 1, 9, 1), (10, 1), (9, 1)),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("moments", "to_a", "to_z"), VECTORS)
def test_both_directions_are_the_quotients_found_by_quadrature(moments, to_a, to_z, dtype):
    z, a = gaussian([moments[0]], [moments[1]], dtype), gaussian([moments[2]], [moments[3]], dtype)
    up, fell_back = relu.forward(z, a)
    down, replaced = relu.backward(z, a)
    direct = relu.direct(z)
    expected = to_a or (direct.tau.item(), direct.rho.item())
    assert fell_back.item() == (to_a is None)
    assert not replaced.item()
    assert (up.tau.item(), up.rho.item()) == pytest.approx(expected, rel=relative(dtype))
    assert (down.tau.item(), down.rho.item()) == pytest.approx(to_z, rel=relative(dtype))


def test_the_guarded_vector_would_have_lost_precision():
    # Quadrature: variance 0.22304154 of a, so 1/variance - 1/0.25 = 0.4834696 < 1/2 of z.
    _, (mean, variance) = exact_marginals(gaussian(-0.5, 2.0), gaussian(0.8, 0.25), 0.0)
    assert (mean, variance) == pytest.approx((0.39769515, 0.22304154), rel=1e-7)
    assert 1 / variance - 1 / 0.25 < 0.5


def test_where_no_guard_acts_message_times_message_is_the_exact_marginal():
    z, a = random_messages(60, seed=1), random_messages(60, seed=2)
    up, fell_back = relu.forward(z, a)
    down, replaced = relu.backward(z, a)
    of_a, of_z = up * a, down * z
    assert (~fell_back).sum() > 20
    assert (~replaced).sum() > 20
    for i in range(60):
        (z_mean, z_variance), (a_mean, a_variance) = exact_marginals(z[i], a[i], 0.0)
        if not replaced[i]:
            assert of_z.mean[i].item() == pytest.approx(z_mean, rel=1e-8, abs=1e-9)
            assert of_z.variance[i].item() == pytest.approx(z_variance, rel=1e-8)
        if not fell_back[i] and up.rho[i] < 1e7:  # beyond, a variance represents a point
            assert of_a.mean[i].item() == pytest.approx(a_mean, rel=1e-8, abs=1e-9)
            assert of_a.variance[i].item() == pytest.approx(a_variance, rel=1e-8)


def test_it_is_the_limit_of_small_slopes():
    z, a = random_messages(500, seed=3), random_messages(500, seed=4)
    for function, limit in (
        (leaky_relu.forward, relu.forward),
        (leaky_relu.backward, relu.backward),
    ):
        near, near_count = function(z, a, 1e-13)
        message, count = limit(z, a)
        same = ~near_count & ~count & (message.rho < 1e7)  # beyond, a variance represents a point
        assert same.sum() > 200
        torch.testing.assert_close(message.tau[same], near.tau[same], rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(message.rho[same], near.rho[same], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_unit_that_is_off_is_a_narrow_point_at_zero_and_no_event(dtype):
    z, a = gaussian([-10.0, -1e3], [1.0, 1.0], dtype), gaussian([0.1, 0.1], [1.0, 1.0], dtype)
    up, fell_back = relu.forward(z, a)
    down, _ = relu.backward(z, a)
    direct = relu.direct(z)
    assert not fell_back.any()
    assert torch.equal(up.tau, direct.tau)
    torch.testing.assert_close(up.rho, torch.full_like(up.rho, 1e8))
    assert (up.mean.abs() < 1e-20).all()
    # It says nothing to z: the widest message, at the mean of z.
    torch.testing.assert_close(down.rho, torch.full_like(down.rho, 1e-8))
    torch.testing.assert_close((down * z).mean, z.mean)


def test_a_uniform_message_from_above_is_no_event():
    z = random_messages(100, seed=7)
    message, fell_back = relu.forward(z, Gaussian.uniform(100, pattern=z.rho))
    assert not fell_back.any()
    assert torch.equal(message.tau, relu.direct(z).tau)

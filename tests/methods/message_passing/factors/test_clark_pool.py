"""Compared with integrals over two inputs, sampled windows, independent vectors, limits."""

import math

import numpy as np
import pytest
import torch
from scipy.integrate import dblquad

from bnnbench.methods.message_passing.factors import clark_pool
from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.method import MessagePassing
from bnnbench.methods.message_passing.schedule import Coupled
from tests.methods.message_passing.factors.messages import DTYPES, gaussian
from tests.methods.problems import images, stream

MEANS, VARIANCES = [[0.3, -0.5], [1.0, 0.2]], [[1.0, 0.25], [0.5, 2.0]]
SHARES = [0.1723456806, 0.0535739409, 0.5368705590, 0.2372098195]
# Message from above → messages to the four inputs.
BACK = {
    (3.0, 2.0): (
        [0.016960729, 0.000822668, 0.371638626, 0.024407696],
        [0.031253211, 0.002930581, 0.344777900, 0.064857929],
    ),
    (-1.0, 4.0): (
        [-0.407603817, -0.127434346, -1.073125803, -0.637894996],
        [0.042408707, 0.003935051, 0.491870598, 0.091113417],
    ),
}


def window(dtype=torch.float64):
    return gaussian(MEANS, VARIANCES, dtype)


def density(x, mean, variance):
    """Return the density of a normal; SciPy takes a hundred times as long for a single number."""
    return math.exp(-((x - mean) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)


def a_pair(m1, s1, m2, s2):
    """Return a window whose second row is far below and so never counts."""
    return gaussian([[m1, m2], [-500.0, -600.0]], [[s1, s2], [1.0, 1.0]], torch.float64)


@pytest.mark.parametrize(
    ("inputs", "mean", "variance", "share"),
    [
        ((0.0, 1.0, 0.0, 1.0), 0.5641895835, 0.6816901138, 0.5),
        ((0.5, 1.0, -0.3, 2.0), 0.8634108287, 0.8992875180, 0.6779163887),
    ],
)
def test_a_pair_has_the_moments_of_its_maximum(inputs, mean, variance, share):
    out = clark_pool.forward(a_pair(*inputs), 2)
    assert out.mean.item() == pytest.approx(mean, rel=1e-9)
    assert out.variance.item() == pytest.approx(variance, rel=1e-9)
    whole, _ = clark_pool._maxima(a_pair(*inputs), 2)
    assert whole.shares[0].item() == pytest.approx(share, rel=1e-9)
    m1, s1, m2, s2 = inputs

    def moment(power):
        return dblquad(
            lambda y, x: max(x, y) ** power * density(x, m1, s1) * density(y, m2, s2),
            *(m1 - 9 * s1**0.5, m1 + 9 * s1**0.5),
            *(m2 - 9 * s2**0.5, m2 + 9 * s2**0.5),
            epsabs=1e-9,
        )[0]

    first, second = moment(1), moment(2)
    assert out.mean.item() == pytest.approx(first, abs=1e-6)
    assert out.variance.item() == pytest.approx(second - first**2, abs=1e-6)


def test_a_window_is_a_tree_of_pairs():
    whole, _ = clark_pool._maxima(window(), 2)
    assert whole.mean.item() == pytest.approx(1.4581738479, rel=1e-9)
    assert whole.variance.item() == pytest.approx(0.4801024475, rel=1e-9)
    assert [share.item() for share in whole.shares] == pytest.approx(SHARES, rel=1e-8)


def test_a_window_is_near_its_samples_where_the_published_factor_is_far():
    rng = np.random.default_rng(0)
    draws = rng.normal(np.array(MEANS).ravel(), np.sqrt(VARIANCES).ravel(), (400_000, 4)).max(1)
    out = clark_pool.forward(window(), 2)
    assert out.mean.item() == pytest.approx(draws.mean(), abs=0.01)
    assert 0.79 < out.variance.item() / draws.var() < 1.0


@pytest.mark.parametrize("above", BACK)
def test_the_message_back_is_linear_in_the_inputs(above):
    back = Gaussian(*(torch.tensor([[value]], dtype=torch.float64) for value in above))
    down = clark_pool.backward(window(), back, 2)
    tau, rho = BACK[above]
    assert down.tau.flatten().tolist() == pytest.approx(tau, abs=1e-9)
    assert down.rho.flatten().tolist() == pytest.approx(rho, abs=1e-9)


def test_it_is_bayes_rule_of_a_linear_function():
    """For w = M + Σ c_j (x_j - m_j) + e, conditioned on everything but input j, by matrices."""
    z, tau, rho = window(), 0.7, 1.3
    whole, leaves = clark_pool._maxima(z, 2)
    shares = np.array([share.item() for share in whole.shares])
    means = np.array([mean.item() for mean, _ in leaves])
    variances = np.array([variance.item() for _, variance in leaves])
    noise = whole.variance.item() - (shares**2 * variances).sum()
    back = Gaussian(*(torch.full((1, 1), value, dtype=torch.float64) for value in (tau, rho)))
    down = clark_pool.backward(z, back, 2)
    for j in range(4):
        others = np.arange(4) != j
        spread = noise + (shares[others] ** 2 * variances[others]).sum() + 1 / rho
        observed = tau / rho - whole.mean.item() + shares[j] * means[j]
        assert down.rho.flatten()[j].item() == pytest.approx(shares[j] ** 2 / spread)
        assert down.tau.flatten()[j].item() == pytest.approx(shares[j] * observed / spread)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_dominant_input_is_the_identity_and_nothing_comes_back_from_nothing(dtype):
    z = gaussian([[50.0, 0.0], [1.0, -2.0]], [[2.0, 1.0], [1.0, 1.0]], dtype)
    back = gaussian([[49.0]], [[0.5]], dtype)
    out, down = clark_pool.forward(z, 2), clark_pool.backward(z, back, 2)
    assert out.mean.item() == pytest.approx(50, rel=1e-6)
    assert out.variance.item() == pytest.approx(2, rel=1e-6)
    assert down.rho[0, 0].item() == pytest.approx(2, rel=1e-5)
    assert down.rho.flatten()[1:].abs().max() < 1e-12
    uniform = Gaussian.uniform(1, 1, pattern=z.rho)
    nothing = clark_pool.backward(z, uniform, 2)
    assert not nothing.rho.any()
    assert not nothing.tau.any()


@pytest.mark.parametrize("size", [2, 3])
def test_shares_sum_to_one_and_a_ragged_border_gets_nothing(size):
    rng = stream(3)
    shape = (2, 3, 7, 8)
    mean = torch.randn(shape, generator=rng, dtype=torch.float64)
    z = Gaussian.of(mean, 0.1 + torch.rand(shape, generator=rng, dtype=torch.float64))
    whole, _ = clark_pool._maxima(z, size)
    torch.testing.assert_close(sum(whole.shares), torch.ones_like(whole.mean))
    out = clark_pool.forward(z, size)
    down = clark_pool.backward(z, out, size)
    inside = 7 // size * size, 8 // size * size
    assert (down.rho[..., : inside[0], : inside[1]] > 0).all()
    assert not down.rho[..., inside[0] :, :].any()
    assert not down.rho[..., :, inside[1] :].any()


def test_single_precision_is_near_double():
    single, double = window(torch.float32), window()
    for one, other in (
        (clark_pool.forward(single, 2), clark_pool.forward(double, 2)),
        (
            clark_pool.backward(single, *pooled(single)),
            clark_pool.backward(double, *pooled(double)),
        ),
    ):
        assert one.rho.dtype is torch.float32
        torch.testing.assert_close(one.tau.double(), other.tau, rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(one.rho.double(), other.rho, rtol=1e-5, atol=1e-6)


def pooled(z):
    back = torch.ones(1, 1, dtype=z.rho.dtype)
    return Gaussian(2 * back, 3 * back), 2


def test_a_network_fits_with_it_and_differs_from_the_published_factor():
    problem = images(rows=40)
    method = MessagePassing((1, 1), batch_size=20, schedule=Coupled(4))
    clark = MessagePassing((1, 1), batch_size=20, schedule=Coupled(4), max_pool="clark")
    found = [
        m.fit(problem, stream(0)).predict(problem.train.inputs, stream(1)).mixture_log_probs
        for m in (method, clark)
    ]
    assert found[1].isfinite().all()
    assert not torch.equal(*found)

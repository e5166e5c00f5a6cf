"""Compared with 30-digit values, SciPy's distribution and optimum, bisection, differences."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import optimize, stats
from scipy.special import digamma, gammaln

from bnnbench.methods.predictions import dirichlet
from bnnbench.methods.predictions.dirichlet import (
    ITERATIONS,
    entropy,
    expected_entropy,
    fitted_precision,
    kl_divergence,
    kl_estimate,
    log_density,
    mean_of,
    mutual_information,
    reverse_mutual_information,
    smoothed,
)

HIGHEST = 60000.0
DRAWS = {
    "A": [(0.7, 0.2, 0.1), (0.6, 0.3, 0.1), (0.8, 0.1, 0.1), (0.5, 0.25, 0.25), (0.9, 0.05, 0.05)],
    "B": [(0.70, 0.20, 0.10), (0.71, 0.19, 0.10)],
    "C": [(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0)],
    "D": [(0.9, 0.1), (0.1, 0.9), (0.6, 0.4), (0.4, 0.6)],
    "F": [(0.98, 0.01, 0.01)] * 3,
}
MEANS = {
    "A": [0.6999633333, 0.1800153333, 0.1200213333],
    "B": [0.7049628333, 0.1950138333, 0.1000233333],
    "C": [0.333325, 0.333325, 0.333325, 2.5e-5],
    "D": [0.5, 0.5],
    "F": [0.9799353333, 0.01003233333, 0.01003233333],
}
MEAN_LOGS = {
    "A": [-0.3778806554, -1.899422305, -2.257696431],
    "B": [-0.3496353441, -1.63501351, -2.302351787],
    "C": [-7.064448156, -7.064448156, -7.064448156, -10.59663473],
    "D": [-0.9586745392, -0.9586745392],
    "F": [-0.02026869589, -4.601942069, -4.601942069],
}
# name, unbounded precision, bounded, KL of the fit, its estimate, H(y), H(y | f), mutual info
FITS = [
    ("A", 16.58104229, 16.58104229, 1.631693335, 1.574266161,
     0.8128262464, 0.7567797994, 0.05604644708),
    ("B", 12221.06565, 12221.06565, 8.023557782, 8.023357461,
     0.7955372405, 0.7954554233, 8.1817252e-5),
    ("C", 0.4461937535, 4.0, 9990.574215, -5.338887581,
     1.098874739, 0.8881990935, 0.2106756454),
    ("D", 2.267441389, 2.267441389, 0.005270010444, 0.005270010444,
     0.6931471806, 0.5176488064, 0.1754983741),
    ("F", math.inf, 60000, 12.08424345, 13.0828751,
     0.1121984449, 0.1121817828, 1.666205149e-5),
]  # fmt: skip
CLOSED = [
    ((2, 3, 4), (1, 1, 1), 0.6194062153, 1.060856947, 0.9585978836, 0.1022590636),
    ((0.5, 0.5), (1, 1), 0.2415644753, 0.6931471806, 0.3862943611, 0.3068528194),
    ((1000, 1, 1), (1, 1, 1), 11.12636088, 0.01578593735, 0.01494205661, 0.0008438807424),
    ((1, 1, 1), (1, 1, 1), 0, 1.098612289, 0.8333333333, 0.2652789553),
    ((3, 1, 1), (1, 2, 3), 3.473895421, 0.9502705392, 0.7833333333, 0.1669372059),
    ((59990, *[1.1] * 9), (1,) * 10, 76.38453612, 0.00196460968, 0.001900255318, 6.435436242e-5),
    ((0.001, 2), (1, 1), 993.0906015, 0.004298426995, 0.001143660761, 0.003154766234),
]


def digits(number):
    return pytest.approx(number, rel=2e-9, abs=1e-13)


def float64(values):
    return torch.tensor(values, dtype=torch.float64)


def ones(classes):
    return torch.ones(classes, dtype=torch.float64)


def fit(draws, lowest, highest):
    """Return mean and precision of the Dirichlet fitted to the draws in their given form."""
    draws = smoothed(draws)
    mean = mean_of(draws)
    return mean, fitted_precision(mean, reverse_mutual_information(draws), lowest, highest)


def log_likelihood(mean, mean_log, z):
    """Return the mean log density of draws, as a function of the precision only."""
    inner = sum((z * a - 1) * c - gammaln(z * a) for a, c in zip(mean, mean_log, strict=True))
    return gammaln(z) + inner


def by_bisection(mean, mean_log, lowest, highest):
    """Return the precision at which the derivative of the log likelihood is 0."""

    def slope(log_z):
        z = math.exp(log_z)
        return digamma(z) + float(mean @ (mean_log - digamma(z * mean)))

    low, high = math.log(lowest), math.log(highest)
    if slope(low) <= 0:
        return lowest
    if slope(high) >= 0:
        return highest
    root: Any = optimize.brentq(slope, low, high, xtol=1e-13)
    return math.exp(root)


@pytest.mark.parametrize("name", DRAWS)
def test_mean_and_mean_logarithm_agree_with_smoothed_draws(name):
    draws = smoothed(float64(DRAWS[name]))
    assert draws.mean(0).tolist() == digits(MEANS[name])
    assert draws.log().mean(0).tolist() == digits(MEAN_LOGS[name])


@pytest.mark.parametrize("row", FITS, ids=lambda row: row[0])
def test_the_fit_its_divergence_and_its_uncertainty_are_the_known_ones(row):
    name, unbounded, bounded, divergence, estimate, total, aleatoric, epistemic = row
    draws = float64(DRAWS[name])
    classes = draws.shape[1]
    # A bound that is not reached; equal draws reach any bound.
    _, free = fit(draws, 1e-6, 1e12 if math.isfinite(unbounded) else HIGHEST)
    assert float(free) == digits(unbounded if math.isfinite(unbounded) else HIGHEST)
    mean, z = fit(draws, classes, HIGHEST)
    assert float(z) == digits(bounded)
    alpha = z * mean
    assert float(kl_divergence(alpha, ones(classes))) == pytest.approx(divergence, rel=2e-9)
    found = kl_estimate(draws.log(), ones(classes), HIGHEST)
    assert float(found) == pytest.approx(estimate, rel=5e-9)
    assert float(entropy(alpha)) == digits(total)
    assert float(expected_entropy(alpha)) == digits(aleatoric)
    assert float(mutual_information(alpha)) == pytest.approx(epistemic, rel=2e-8)


@pytest.mark.parametrize("row", CLOSED, ids=lambda row: str(row[0]))
def test_divergence_and_uncertainty_of_known_concentrations(row):
    alpha, beta, divergence, total, aleatoric, epistemic = row
    alpha, beta = float64(alpha), float64(beta)
    assert float(kl_divergence(alpha, beta)) == pytest.approx(divergence, rel=2e-9, abs=1e-12)
    assert float(entropy(alpha)) == digits(total)
    assert float(expected_entropy(alpha)) == digits(aleatoric)
    assert float(mutual_information(alpha)) == pytest.approx(epistemic, rel=1e-9)


def test_the_density_is_scipys():
    alpha, probs = float64([2.0, 0.5, 7.0]), float64([0.2, 0.1, 0.7])
    expected = stats.dirichlet.logpdf(probs.numpy(), alpha.numpy())
    assert float(log_density(probs.log(), alpha)) == pytest.approx(expected, rel=1e-12)


def test_uncertainty_agrees_with_sampled_probabilities():
    alpha = np.array([2.0, 0.5, 7.0])
    probs = np.random.default_rng(0).dirichlet(alpha, 200_000)
    aleatoric = -(probs * np.log(np.clip(probs, 1e-300, None))).sum(1)
    assert float(expected_entropy(float64(alpha))) == pytest.approx(
        aleatoric.mean(), abs=5 * aleatoric.std() / math.sqrt(200_000)
    )


@pytest.mark.parametrize("name", ["A", "B", "D"])
def test_no_other_precision_is_more_likely(name):
    draws = smoothed(float64(DRAWS[name])).numpy()
    mean, mean_log = draws.mean(0), np.log(draws).mean(0)
    best: Any = optimize.minimize_scalar(
        lambda log_z: -log_likelihood(mean, mean_log, math.exp(log_z)),
        bounds=(math.log(1e-3), math.log(1e8)),
        method="bounded",
        options={"xatol": 1e-10},
    )
    _, z = fit(float64(DRAWS[name]), 1e-6, 1e12)
    assert float(z) == pytest.approx(math.exp(best.x), rel=1e-5)


def test_the_fit_is_near_full_maximum_likelihood_of_many_draws():
    """Free concentrations give another estimator: the two agree if draws are Dirichlet."""
    alpha = np.array([4.0, 2.0, 9.0])
    draws = np.random.default_rng(1).dirichlet(alpha, 4000)
    mean_log = np.log(draws).mean(0)

    def negative(logs):
        a = np.exp(logs)
        return -(gammaln(a.sum()) - gammaln(a).sum() + ((a - 1) * mean_log).sum())

    full = np.exp(optimize.minimize(negative, np.zeros(3), tol=1e-12).x)
    mean, z = fit(torch.from_numpy(draws), 1e-3, 1e6)
    # The precision's relative standard error is 2 / sqrt(2 * 4000), and its own smoothing is less.
    np.testing.assert_allclose((z * mean).numpy(), full, rtol=0.02)
    assert float(z) == pytest.approx(15, rel=0.06)


@settings(max_examples=200)
@given(
    draws=arrays(
        np.float64,
        st.tuples(st.integers(2, 6), st.integers(2, 12)),
        elements=st.one_of(
            st.floats(0, 1), st.floats(-40, 0).map(math.exp), st.sampled_from([0.0, 1.0])
        ),
    ),
    wide=st.booleans(),
)
def test_any_draws_give_the_precision_that_bisection_finds(draws, wide):
    draws = draws + 1e-300
    draws = torch.from_numpy(draws / draws.sum(1, keepdims=True))
    lowest, highest = (1e-3, 1e6) if wide else (draws.shape[1], HIGHEST)
    kept = smoothed(draws)
    mean, mean_log = kept.mean(0).numpy(), kept.log().mean(0).numpy()
    expected = by_bisection(mean, mean_log, lowest, highest)
    _, z = fit(draws, lowest, highest)
    # 1e-15 of a derivative whose own derivative is (classes - 1) / (2 z²).
    assert float(z) == pytest.approx(expected, rel=1e-7 + 1e-13 * expected)


@settings(max_examples=100)
@given(
    logits=arrays(np.float32, (3, 4, 5), elements=st.floats(-200, 200, width=32)),
    count=st.integers(1, 3),
)
def test_estimates_and_gradients_are_finite_for_any_logits(logits, count):
    draws = torch.from_numpy(logits[:count]).requires_grad_()
    estimate = kl_estimate(draws.log_softmax(-1), ones(5), HIGHEST)
    estimate.sum().backward()
    assert estimate.isfinite().all()
    assert draws.grad is not None
    assert draws.grad.isfinite().all()


def test_few_steps_suffice(monkeypatch):
    rng = np.random.default_rng(2)
    draws = rng.dirichlet(rng.uniform(0.05, 20, 10), (10, 4000)).astype(np.float64)
    _, expected = fit(torch.from_numpy(draws), 10, HIGHEST)
    monkeypatch.setattr(dirichlet, "ITERATIONS", 5)
    _, z = fit(torch.from_numpy(draws), 10, HIGHEST)
    assert ITERATIONS > 5
    torch.testing.assert_close(z, expected, rtol=1e-9, atol=0)


def test_a_point_is_fitted_the_same_in_any_company():
    rng = np.random.default_rng(3)
    easy = rng.dirichlet(np.full(4, 50.0), (5, 30))
    draws = torch.from_numpy(np.concatenate([easy, np.eye(4)[rng.integers(4, size=(5, 30))]], 1))
    _, together = fit(draws, 1e-3, 1e6)
    for point in range(draws.shape[1]):
        assert torch.equal(together[point], fit(draws[:, point : point + 1], 1e-3, 1e6)[1][0])


@pytest.mark.parametrize("beta", [(1.0, 1.0, 1.0), (0.5, 2.0, 30.0)])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_the_gradient_in_logits_is_the_closed_form(count, beta, monkeypatch):
    """d KL / d u_j = [z (mean_j - f_j) + f_j Σβ - β_j] / M, without smoothing."""
    monkeypatch.setattr(dirichlet, "SMOOTHING", 0.0)
    rng = torch.Generator().manual_seed(4)
    logits = torch.randn(count, 7, 3, generator=rng, dtype=torch.float64).requires_grad_()
    prior = float64(beta)
    kl_estimate(logits.log_softmax(-1), prior, HIGHEST).sum().backward()
    probs = logits.detach().softmax(-1)
    mean = probs.mean(0)
    pull = probs * prior.sum() - prior
    if count > 1:
        z = fitted_precision(mean, reverse_mutual_information(probs), 3, HIGHEST)
        pull = pull + z[:, None] * (mean - probs)
    torch.testing.assert_close(logits.grad, pull / count, rtol=1e-9, atol=1e-9)


def test_the_gradient_of_one_smoothed_draw_agrees_with_two_densities_of_fixed_concentrations():
    logits = torch.tensor([[[9.0, -3.0, 0.1]]], dtype=torch.float64, requires_grad=True)
    prior, step = float64([1.0, 1.0, 4.0]), 1e-5
    estimate = kl_estimate(logits.log_softmax(-1), prior, HIGHEST)
    (gradient,) = torch.autograd.grad(estimate.sum(), logits)
    alpha = HIGHEST * smoothed(logits.detach().softmax(-1))[0, 0]

    def difference_of_densities(at):
        probs = smoothed(at.softmax(-1))[0, 0]
        own, other = (stats.dirichlet.logpdf(probs.numpy(), a.numpy()) for a in (alpha, prior))
        return own - other

    assert float(estimate.detach()) == pytest.approx(
        difference_of_densities(logits.detach()), rel=1e-9
    )
    for k in range(3):
        nudge = torch.zeros_like(logits)
        nudge[0, 0, k] = step
        ahead, behind = logits.detach() + nudge, logits.detach() - nudge
        slope = (difference_of_densities(ahead) - difference_of_densities(behind)) / (2 * step)
        assert float(gradient[0, 0, k]) == pytest.approx(slope, rel=1e-5, abs=1e-6)

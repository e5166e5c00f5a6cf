"""Errors of moments, compared with samples from known distributions."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bnnbench.metrics import PROBED
from bnnbench.metrics.moments import (
    RunningMoments,
    SampledUnits,
    Units,
    eps_mu,
    eps_mu_floor,
    eps_sigma,
    excluded_share,
    kl_class_posterior,
    kl_floor,
    propagated_std,
)

RNG = np.random.default_rng(0)


def exact(mean, std, samples=None):
    tensors = (torch.tensor(x, dtype=torch.float64) for x in (mean, std))
    return SampledUnits(*tensors, samples)


@settings(max_examples=30)
@given(st.lists(st.integers(1, 9), min_size=2, max_size=6), st.sampled_from([0.0, 1e4, -3e5]))
def test_moments_of_batches_agree_with_all_samples(sizes, offset):
    batches = [offset + RNG.standard_normal((size, 2, 3)) for size in sizes]
    running = RunningMoments()
    for batch in batches:
        running.add(torch.from_numpy(batch))
    together = np.concatenate(batches)
    # A mean near 0 has the rounding of the numbers that cancel in it.
    rounding = 1e-15 * abs(together).max()
    np.testing.assert_allclose(running.mean, together.mean(0), rtol=1e-12, atol=rounding)
    np.testing.assert_allclose(running.variance, together.var(0, ddof=1), rtol=1e-9)
    assert running.units().samples == sum(sizes)


@pytest.mark.parametrize("offset", [0.0, 1e3, -1e5])
def test_float32_samples_far_from_zero_lose_nothing_but_their_own_rounding(offset):
    samples = (offset + RNG.standard_normal((5000, 3))).astype(np.float32)
    running = RunningMoments()
    for part in np.split(samples, 50):
        running.add(torch.from_numpy(part.copy()))
    exactly = samples.astype(float)
    np.testing.assert_allclose(running.mean, exactly.mean(0), rtol=0, atol=1e-7)
    np.testing.assert_allclose(running.variance, exactly.var(0, ddof=1), rtol=1e-6)


def test_adding_samples_leaves_them_as_they_were():
    samples = torch.randn(4, 3, dtype=torch.float64)
    before = samples.clone()
    RunningMoments().add(samples)
    assert torch.equal(samples, before)


def test_the_error_of_means_is_a_ratio_of_means():
    truth = exact([[0.0, 1.0], [2.0, 3.0]], [[1.0, 1.0], [1.0, 5.0]])
    found = Units(torch.tensor([[1.0, 1.0], [2.0, 0.0]]))
    assert eps_mu(found, truth) == pytest.approx((1 + 0 + 0 + 3) / 8)


def test_the_error_of_deviations_is_a_geometric_mean_over_units_that_vary():
    truth = exact([[0.0, 0.0, 0.0]], [[1.0, 2.0, 1e-9]])
    found = Units(torch.zeros(1, 3), torch.tensor([[2.0, 16.0, 7.0]]))
    assert eps_sigma(found, truth) == pytest.approx(math.sqrt(2 * 8), rel=1e-6)
    assert excluded_share(found, truth) == pytest.approx(1 / 3)


def test_deviations_of_means_alone_are_refused():
    with pytest.raises(ValueError, match="got only means"):
        eps_sigma(Units(torch.zeros(1, 1)), exact([[0.0]], [[1.0]]))


@pytest.mark.parametrize("samples", [50, 400])
def test_exact_means_of_gaussian_units_err_by_the_floor(samples):
    drawn = torch.from_numpy(RNG.normal(3.0, 2.0, (samples, 1, 4000)))
    running = RunningMoments()
    running.add(drawn)
    truth = running.units()
    found = Units(torch.full((1, 4000), 3.0), torch.full((1, 4000), 2.0))
    assert float(eps_mu(found, truth)) == pytest.approx(float(eps_mu_floor(found, truth)), rel=0.04)
    assert float(eps_sigma(found, truth)) == pytest.approx(1, abs=0.01)


def test_the_divergence_of_classes_is_kullback_and_leiblers():
    sampled, other = np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]]), np.array([[0.25, 0.5, 0.25]] * 2)
    expected = [0.5 * math.log(2), 0.2 * math.log(0.8) + 0.3 * math.log(0.6) + 0.5 * math.log(2)]
    truth = exact(sampled, np.zeros((2, 3)))
    assert kl_class_posterior(torch.tensor(other).log(), truth) == pytest.approx(np.mean(expected))


def test_an_impossible_class_that_was_sampled_diverges():
    truth = exact([[0.5, 0.5]], [[0.1, 0.1]])
    assert kl_class_posterior(torch.tensor([[0.0, -math.inf]]), truth) == math.inf


def test_the_exact_class_posterior_errs_by_the_floor():
    concentration, samples, repeats = np.array([4.0, 2.0, 3.0]), 200, 3000
    drawn = RNG.dirichlet(concentration, (samples, repeats))
    running = RunningMoments()
    running.add(torch.from_numpy(drawn))
    truth = running.units()
    log_probs = torch.tensor(np.log(concentration / concentration.sum())).expand(repeats, 3)
    assert float(kl_class_posterior(log_probs, truth)) == pytest.approx(
        float(kl_floor(log_probs, truth)), rel=0.08
    )


def test_what_is_exact_has_no_floor():
    truth = exact([[0.5, 0.5]], [[0.1, 0.1]])
    assert float(eps_mu_floor(Units(truth.mean), truth)) == 0
    assert float(kl_floor(None, truth)) == 0


def test_every_measurement_is_declared_under_its_name():
    assert all(metric.score.paths[-1].endswith(f":{name}") for name, metric in PROBED.items())


def test_a_deviation_that_is_not_propagated_is_refused():
    with pytest.raises(ValueError, match="propagated_std needs standard deviations"):
        propagated_std(Units(torch.zeros(1)), None)

"""Predictive distributions, compared with SciPy."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from bnnbench.methods.predictions import predictive
from bnnbench.methods.predictions.predictive import (
    CategoricalPredictive,
    CategoricalSummary,
    GaussianPredictive,
    RealPredictive,
    mixture,
)
from tests.methods.problems import stream


def categorical(draws=4, points=11, classes=3, seed=0):
    logits = 3 * torch.randn(draws, points, classes, generator=stream(seed), dtype=torch.float64)
    return CategoricalPredictive(logits.log_softmax(-1))


def gaussian(draws=4, points=11, outputs=2, seed=0):
    rng = stream(seed)
    means = torch.randn(draws, points, outputs, generator=rng, dtype=torch.float64)
    variances = torch.rand(draws, points, outputs, generator=rng, dtype=torch.float64) + 0.1
    return GaussianPredictive(means, variances)


def some_targets(points=11, outputs=2):
    return torch.randn(points, outputs, generator=stream(7), dtype=torch.float64)


def test_class_log_probabilities_agree_with_the_mixture():
    prediction = categorical()
    expected = special.logsumexp(prediction.log_probs.numpy(), axis=0) - np.log(4)
    np.testing.assert_allclose(prediction.mixture_log_probs.numpy(), expected, rtol=1e-12)
    targets = torch.arange(11) % 3
    np.testing.assert_allclose(
        prediction.log_prob(targets).numpy(), expected[np.arange(11), targets.numpy()], rtol=1e-12
    )


def test_expected_entropy_is_the_mean_of_the_draws_entropies():
    prediction = categorical()
    expected = stats.entropy(prediction.log_probs.exp().numpy(), axis=-1).mean(0)
    np.testing.assert_allclose(prediction.expected_entropy.numpy(), expected, rtol=1e-10)


def test_class_probabilities_of_exactly_zero_have_no_entropy_and_are_not_nan():
    log_probs = torch.tensor([[[0.0, -torch.inf]], [[-torch.inf, 0.0]]])
    prediction = CategoricalPredictive(log_probs)
    assert prediction.expected_entropy.tolist() == [0.0]
    np.testing.assert_allclose(prediction.mixture_log_probs.exp().numpy(), [[0.5, 0.5]])
    certain = CategoricalPredictive(log_probs[:1])
    assert certain.log_prob(torch.tensor([1])).tolist() == [-torch.inf]


def test_nan_of_a_draw_reaches_the_point_and_no_other():
    log_probs = categorical().log_probs.clone()
    log_probs[2, 5] = torch.nan
    bad = CategoricalPredictive(log_probs)
    expected = [point == 5 for point in range(11)]
    assert bad.mixture_log_probs.isnan().any(1).tolist() == expected
    assert bad.expected_entropy.isnan().tolist() == expected


def test_a_summary_says_what_the_draws_said():
    prediction = categorical()
    summary = prediction.summary()
    assert isinstance(summary, CategoricalSummary)
    assert len(summary) == len(prediction) == 11
    targets = torch.arange(11) % 3
    assert torch.equal(summary.log_prob(targets), prediction.log_prob(targets))
    assert torch.equal(summary.expected_entropy, prediction.expected_entropy)


def test_a_gaussian_predictive_is_a_predictive_of_reals():
    assert isinstance(gaussian(), RealPredictive)


def test_the_density_of_a_row_agrees_with_the_mixture_of_products():
    prediction, targets = gaussian(), some_targets()
    each = stats.norm.logpdf(
        targets.numpy(), prediction.means.numpy(), prediction.variances.sqrt().numpy()
    ).sum(-1)
    expected = special.logsumexp(each, axis=0) - np.log(4)
    np.testing.assert_allclose(prediction.log_prob(targets).numpy(), expected, rtol=1e-12)


def test_the_cdf_is_the_mean_of_the_draws_cdfs():
    prediction, targets = gaussian(), some_targets()
    expected = stats.norm.cdf(
        targets.numpy(), prediction.means.numpy(), prediction.variances.sqrt().numpy()
    ).mean(0)
    np.testing.assert_allclose(prediction.cdf(targets).numpy(), expected, rtol=1e-10)


def test_mean_and_variance_are_the_moments_of_the_mixtures_density():
    prediction = gaussian(points=1, outputs=1)
    grid = torch.linspace(-12, 12, 48_001, dtype=torch.float64)[:, None]
    wide = GaussianPredictive(
        prediction.means.expand(-1, len(grid), -1), prediction.variances.expand(-1, len(grid), -1)
    )
    density, y = wide.log_prob(grid).exp().numpy(), grid[:, 0].numpy()
    mean = np.trapezoid(y * density, y)
    assert np.trapezoid(density, y) == pytest.approx(1, rel=1e-8)
    assert prediction.mean.item() == pytest.approx(mean, rel=1e-8)
    variance = np.trapezoid((y - mean) ** 2 * density, y)
    assert prediction.variance.item() == pytest.approx(variance, rel=1e-8)


def test_results_are_float64_for_draws_of_float32():
    single = GaussianPredictive(gaussian().means.float(), gaussian().variances.float())
    targets = some_targets().float()
    for result in (single.mean, single.variance, single.log_prob(targets), single.cdf(targets)):
        assert result.dtype == torch.float64
    logs = CategoricalPredictive(categorical().log_probs.float())
    assert logs.mixture_log_probs.dtype == logs.expected_entropy.dtype == torch.float64


@given(shift=st.floats(-50, 50), scale=st.floats(0.01, 50))
def test_rescaling_moves_moments_densities_and_quantiles_as_a_change_of_units_does(shift, scale):
    prediction, targets = gaussian(), some_targets()
    other = prediction.rescaled(shift, scale)
    torch.testing.assert_close(other.mean, shift + scale * prediction.mean)
    torch.testing.assert_close(other.variance, scale**2 * prediction.variance)
    moved = shift + scale * targets
    torch.testing.assert_close(
        other.log_prob(moved),
        prediction.log_prob(targets) - 2 * np.log(scale),
        rtol=1e-7,
        atol=1e-7,
    )
    torch.testing.assert_close(other.cdf(moved), prediction.cdf(targets), rtol=1e-7, atol=1e-9)


def test_no_variance_at_all_is_a_point_mass():
    means = torch.tensor([[[1.0], [1.0], [1.0], [torch.nan]]])
    prediction = GaussianPredictive(means, torch.zeros_like(means))
    targets = torch.tensor([[0.5], [1.0], [1.5], [1.0]])
    log_probs, cdf = prediction.log_prob(targets), prediction.cdf(targets)
    assert log_probs[:3].tolist() == [-torch.inf, torch.inf, -torch.inf]
    assert cdf[:3, 0].tolist() == [0.0, 1.0, 1.0]
    assert log_probs[3].isnan()
    assert cdf[3].isnan()


def test_nan_of_a_mean_or_a_variance_reaches_its_point_and_no_other():
    for field in ("means", "variances"):
        fields = {"means": gaussian().means, "variances": gaussian().variances}
        fields[field] = fields[field].clone()
        fields[field][1, 4] = torch.nan
        bad = GaussianPredictive(**fields)
        expected = [point == 4 for point in range(11)]
        assert bad.log_prob(some_targets()).isnan().tolist() == expected
        assert bad.cdf(some_targets()).isnan().any(1).tolist() == expected
        assert bad.variance.isnan().any(1).tolist() == expected


@pytest.mark.parametrize("values", [1, 7, 30, 10**6])
def test_reducing_in_chunks_changes_nothing(values, monkeypatch):
    targets, labels = some_targets(), torch.arange(11) % 3
    whole = categorical(), gaussian()
    expected = (
        whole[0].log_prob(labels),
        whole[0].expected_entropy,
        whole[1].log_prob(targets),
        whole[1].cdf(targets),
    )
    monkeypatch.setattr(predictive, "CHUNK_VALUES", values)
    pieces = categorical(), gaussian()
    actual = (
        pieces[0].log_prob(labels),
        pieces[0].expected_entropy,
        pieces[1].log_prob(targets),
        pieces[1].cdf(targets),
    )
    for a, b in zip(actual, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-14, atol=0)


def test_no_points_have_no_scores():
    empty = categorical(points=0), gaussian(points=0)
    assert empty[0].log_prob(torch.zeros(0, dtype=torch.long)).shape == (0,)
    assert empty[0].expected_entropy.shape == (0,)
    assert empty[1].log_prob(some_targets(0)).shape == (0,)
    assert empty[1].cdf(some_targets(0)).shape == (0, 2)


def test_a_mixture_of_mixtures_averages_their_densities():
    one, other, targets = gaussian(seed=1), gaussian(seed=2), some_targets()
    expected = (one.log_prob(targets).exp() + other.log_prob(targets).exp()) / 2
    torch.testing.assert_close(mixture([one, other]).log_prob(targets).exp(), expected)
    a, b, labels = categorical(seed=1), categorical(seed=2), torch.arange(11) % 3
    expected = (a.log_prob(labels).exp() + b.log_prob(labels).exp()) / 2
    torch.testing.assert_close(mixture([a, b]).log_prob(labels).exp(), expected)


def test_predictives_of_two_kinds_have_no_mixture():
    with pytest.raises(TypeError, match="CategoricalPredictive, GaussianPredictive"):
        mixture([categorical(), gaussian()])

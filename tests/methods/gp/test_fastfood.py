"""Fastfood's frequencies against their matrices, and its process against the exact formulas."""

import math

import numpy as np
import pytest
import torch
from scipy import linalg, stats
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from bnnbench.datasets.base import Gaussian, Split
from bnnbench.methods.base import Problem, Unsupported
from bnnbench.methods.gp.fastfood import Fastfood, FastfoodPosterior, Frequencies, Kernel, hadamard
from tests.methods.problems import classification, images, stream


def curve(rows=80, noise=0.2, noise_std=None, seed=0):
    rng = stream(seed)
    inputs = torch.randn(rows, 3, generator=rng)
    targets = (2 * inputs[:, :1]).sin() + noise * torch.randn(rows, 1, generator=rng)
    return Problem(Split(inputs, targets), Gaussian(noise_std), ())


def fitted(problem, **settings):
    posterior = Fastfood(**settings).fit(problem, stream(1))
    assert isinstance(posterior, FastfoodPosterior)
    return posterior


def kernel_of(lengths, signal_std=1.3, noise_std=0.2):
    values = (np.log(each) for each in (lengths, signal_std, noise_std))
    return Kernel(*(torch.tensor(value, dtype=torch.float64) for value in values))


@pytest.mark.parametrize("d", [1, 2, 8, 64])
def test_the_transform_is_the_product_with_the_matrix(d):
    values = torch.randn(5, 3, d, generator=stream(0), dtype=torch.float64)
    expected = values.numpy() @ linalg.hadamard(d)
    np.testing.assert_allclose(hadamard(values), expected, atol=1e-12)


def test_frequencies_are_the_product_of_the_matrices_of_the_paper():
    frequencies = Frequencies.draw(6, 20, stream(3))
    assert frequencies.signs.shape == (3, 8)
    inputs = torch.randn(4, 6, generator=stream(4), dtype=torch.float64)
    h = linalg.hadamard(8)
    products = []
    for signs, order, gaussian, lengths in zip(*vars(frequencies).values(), strict=True):
        permutation = np.eye(8)[order]
        matrix = np.diag(lengths) @ h @ np.diag(gaussian) @ permutation @ h @ np.diag(signs)
        products.append(np.pad(inputs, ((0, 0), (0, 2))) @ matrix.T / 8**0.5)
    np.testing.assert_allclose(frequencies(inputs), np.hstack(products), atol=1e-12)


def test_frequencies_have_the_lengths_and_covariances_of_gaussian_vectors():
    frequencies = Frequencies.draw(4, 40_000, stream(5))
    rows = frequencies(torch.eye(4, dtype=torch.float64)).T.numpy()
    squared = (rows**2).sum(1)
    assert stats.kstest(squared, stats.chi2(4).cdf).pvalue > 1e-3
    np.testing.assert_allclose(np.cov(rows.T), np.eye(4), atol=0.04)


def test_waves_have_the_kernel_as_their_products():
    inputs = torch.randn(30, 3, generator=stream(6), dtype=torch.float64)
    lengths = np.array([0.7, 1.5, 4.0])
    waves = kernel_of(lengths).waves(inputs, Frequencies.draw(3, 20_000, stream(7)))
    exact = 1.3**2 * RBF(lengths)(inputs.numpy())
    np.testing.assert_allclose(waves @ waves.T, exact, atol=5 * 1.3**2 / 20_000**0.5)
    np.testing.assert_allclose(waves.square().sum(1), 1.3**2)


def test_evidence_and_predictions_agree_with_regression_on_the_waves():
    problem = curve()
    posterior = fitted(problem, frequencies=16)
    new = torch.randn(7, 3, generator=stream(8))
    rows, points = (
        posterior.kernel.waves(x, posterior.frequencies).numpy()
        for x in (problem.train.inputs, new)
    )
    y, noise = problem.train.targets[:, 0].double().numpy(), float(posterior.kernel.noise_variance)
    covariance = rows @ rows.T + noise * np.eye(len(rows))
    gain = np.linalg.solve(covariance, rows @ points.T)
    prediction = posterior.predict(new, stream(0))
    np.testing.assert_allclose(prediction.mean[:, 0], y @ gain, rtol=1e-7, atol=1e-9)
    variances = (points**2).sum(1) - ((points @ rows.T) * gain.T).sum(1) + noise
    np.testing.assert_allclose(prediction.variance[:, 0], variances, rtol=1e-7)
    evidence = stats.multivariate_normal(np.zeros(len(y)), covariance).logpdf(y) / len(y)
    assert posterior.diagnostics["log_marginal_likelihood_per_row"] == pytest.approx(evidence)


@pytest.mark.long
def test_many_waves_come_near_the_exact_process_of_the_same_kernel():
    problem, new = curve(rows=150), curve(rows=50, seed=9).train.inputs
    inputs, targets = problem.train.inputs, problem.train.targets[:, 0].double()
    lengths = np.array([0.7, 2.0, 4.0])
    kernel, frequencies = kernel_of(lengths), Frequencies.draw(3, 2000, stream(2))
    factor, mean, evidence = kernel.posterior(kernel.waves(inputs, frequencies), targets)
    prediction = FastfoodPosterior(kernel, frequencies, factor, mean, {}).predict(new, stream(0))
    exact = ConstantKernel(1.3**2) * RBF(lengths) + WhiteKernel(0.2**2)
    process = GaussianProcessRegressor(exact, optimizer=None)
    process.fit(inputs.double().numpy(), targets.numpy())
    means, stds = process.predict(new.double().numpy(), return_std=True)
    np.testing.assert_allclose(prediction.mean[:, 0], means, atol=0.1)
    np.testing.assert_allclose(prediction.variance[:, 0].sqrt(), stds, rtol=0.15)
    assert float(evidence) == pytest.approx(process.log_marginal_likelihood_value_, abs=5)


@pytest.mark.long
def test_lengths_and_noise_are_found_and_a_known_noise_is_kept():
    posterior = fitted(curve(rows=400), frequencies=64)
    used, *unused = posterior.kernel.log_lengths.exp()
    assert min(unused) > 4 * used
    assert posterior.diagnostics["noise_std"] == pytest.approx(0.2, rel=0.15)
    known = fitted(curve(noise_std=0.5))
    assert known.diagnostics["noise_std"] == pytest.approx(0.5)
    assert len(known.kernel.log_lengths) == 3


@pytest.mark.long
def test_intervals_hold_their_share_of_new_targets():
    inside = []
    for seed in range(10):
        new = curve(rows=200, seed=100 + seed).train
        prediction = fitted(curve(rows=200, seed=seed), frequencies=64).predict(
            new.inputs, stream(0)
        )
        z = (new.targets - prediction.mean) / prediction.variance.sqrt()
        inside.append(float((z.abs() < 1.645).double().mean()))
    assert np.mean(inside) == pytest.approx(0.9, abs=0.04)


def test_points_are_predicted_in_pieces_and_every_row_is_conditioned_on():
    problem = curve(rows=300)
    posterior = fitted(problem, frequencies=64, rows_for_kernel=50)
    points = torch.randn(5000, 3, generator=stream(4))
    whole = posterior.predict(points, stream(0)).mean
    torch.testing.assert_close(whole[4500:], posterior.predict(points[4500:], stream(0)).mean)
    some = Split(problem.train.inputs[:50], problem.train.targets[:50])
    few = fitted(Problem(some, Gaussian(), ()), frequencies=64)
    new = curve(rows=500, seed=9).train
    errors = [
        float((each.predict(new.inputs, stream(0)).mean - new.targets).square().mean())
        for each in (posterior, few)
    ]
    assert errors[0] < errors[1]
    assert math.isfinite(errors[0])


def test_what_it_does_not_cover_is_refused():
    for problem in (classification(), images(real=True)):
        with pytest.raises(Unsupported, match="needed"):
            Fastfood().fit(problem, stream(0))
    with pytest.raises(ValueError, match="frequencies"):
        Fastfood(frequencies=0)


@pytest.mark.parametrize(
    ("features", "frequencies", "accepted"),
    [
        (256, 8, True),
        (257, 8, False),
        (300, 300, True),
        (2000, 256, False),
    ],
)
def test_features_are_bounded_since_each_has_a_frequency(features, frequencies, accepted):
    problem = Problem(Split(torch.randn(4, features), torch.randn(4, 1)), Gaussian(0.1), ())
    method = Fastfood(frequencies=frequencies, iterations=1)
    if accepted:
        assert len(method.fit(problem, stream(1)).predict(problem.train.inputs, stream(2))) == 4
    else:
        with pytest.raises(Unsupported, match=f"at most 256 features.*got {features:,}: raise"):
            method.fit(problem, stream(1))


@pytest.mark.parametrize("d", [1, 8])
def test_the_transform_of_no_rows_is_no_rows(d):
    assert hadamard(torch.zeros(0, 3, d, dtype=torch.float64)).shape == (0, 3, d)

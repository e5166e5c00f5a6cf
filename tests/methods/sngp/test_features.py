"""Random features against exact Gaussian processes, test vectors and singular values."""

import math

import numpy as np
import pytest
import torch

from bnnbench.methods.sngp.features import (
    covariance_roots,
    mean_field,
    precisions,
    scaled_cosines,
    variances,
)
from bnnbench.methods.sngp.spectral import bound_norms, power_iteration
from tests.methods.problems import stream


def double(values):
    return torch.tensor(values, dtype=torch.float64)


def curve(angles):
    first, second = angles
    return 1.5 * np.stack([np.sin(first), np.cos(second)], 1)


ROWS = curve((np.arange(30.0), 1.7 * np.arange(30.0)))
TARGETS = np.sin(ROWS[:, 0]) + ROWS[:, 1] / 2
POINTS = curve((0.5 + 1.3 * np.arange(10.0), 0.3 + np.arange(10.0)))
NOISE = 0.01


def kernel(one, other):
    return np.exp(-0.5 * ((one[:, None] - other[None]) ** 2).sum(-1))


def exact():
    gram = kernel(ROWS, ROWS) + NOISE * np.eye(30)
    between = kernel(POINTS, ROWS)
    means = between @ np.linalg.solve(gram, TARGETS)
    return means, 1 - (between * np.linalg.solve(gram, between.T).T).sum(1)


def by_features(count, seed):
    """Return the process of random features: regression weighs every row by 1 / noise."""
    rng = stream(seed)
    frequencies = torch.randn(count, 2, generator=rng, dtype=torch.float64)
    phases = 2 * math.pi * torch.rand(count, generator=rng, dtype=torch.float64)
    rows, points = (
        scaled_cosines(torch.tensor(x)[None], frequencies[None], phases[None])[0]
        for x in (ROWS, POINTS)
    )
    precision = precisions(rows, torch.full((30, 1), 1 / NOISE, dtype=torch.float64), 1.0)
    mean = points @ torch.linalg.solve(precision[0], rows.mT @ torch.tensor(TARGETS) / NOISE)
    return mean.numpy(), variances(points, covariance_roots(precision))[:, 0].numpy()


def test_the_exact_process_has_the_reference_values():
    means, of_function = exact()
    np.testing.assert_allclose(means[:3], [1.3773675, 1.1894588, -0.4265994], atol=1e-7)
    np.testing.assert_allclose(of_function[:3], [0.01022437, 0.00570820, 0.01461530], atol=1e-8)


def mean_errors(count):
    """Return the largest errors of mean and variance, averaged over 20 draws of features."""
    errors = [
        [np.abs(a - b).max() for a, b in zip(by_features(count, n), exact(), strict=True)]
        for n in range(20)
    ]
    return np.mean(errors, axis=0)


def test_errors_of_random_features_halve_with_four_times_as_many():
    few, many = mean_errors(64), mean_errors(256)
    np.testing.assert_allclose(few, [0.058, 0.0229], rtol=0.3)
    np.testing.assert_allclose(many, [0.033, 0.0105], rtol=0.3)


@pytest.mark.long
def test_errors_of_many_random_features_are_small():
    np.testing.assert_allclose(mean_errors(1024), [0.016, 0.0034], rtol=0.3)


def test_the_posterior_of_classes_is_the_reference_value():
    phi = double([[1, 0.5], [0.2, -1], [0.3, 0.3]])
    shares = double([0.2, 0.6, 0.9])[:, None]
    precision = precisions(phi, shares * (1 - shares), 1.0)
    expected = double([[[1.1777, 0.0401], [0.0401, 1.2881]]])
    torch.testing.assert_close(precision, expected, atol=1e-12, rtol=0)
    spread = variances(double([[0.5, 0.5]]), covariance_roots(precision))
    assert spread.item() == pytest.approx(0.25 * 2.3856 / 1.51538736, abs=1e-14)
    logit = mean_field(double([[1.2]]), spread, math.pi / 8)
    assert logit.item() == pytest.approx(1.1167977970, abs=1e-9)


def test_roots_give_the_inverse():
    matrix = torch.randn(2, 5, 5, generator=stream(0), dtype=torch.float64)
    precision = matrix @ matrix.mT + torch.eye(5, dtype=torch.float64)
    roots = covariance_roots(precision)
    torch.testing.assert_close(roots @ roots.mT, torch.linalg.inv(precision))


def test_power_iterations_reach_the_spectral_norm_from_below():
    matrices = torch.randn(3, 8, 8, generator=stream(0), dtype=torch.float64)
    left = torch.randn(3, 8, generator=stream(1), dtype=torch.float64)
    expected = torch.linalg.matrix_norm(matrices, 2)
    for _ in range(300):
        left, norms = power_iteration(matrices, left)
        assert (norms <= expected + 1e-12).all()
    torch.testing.assert_close(norms, expected, rtol=1e-6, atol=0)


def test_only_matrices_above_their_bound_are_scaled_to_it():
    matrices = torch.diag_embed(double([[3.0, 1.0], [0.5, 0.2]]))
    left = double([[1.0, 0.0], [1.0, 0.0]])
    bound_norms(matrices, left, double([0.9, 0.9]))
    expected = torch.diag_embed(double([[0.9, 0.3], [0.5, 0.2]]))
    torch.testing.assert_close(matrices, expected)

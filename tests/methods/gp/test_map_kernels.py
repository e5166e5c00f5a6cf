"""Kernels of maximum posterior density: gradients, priors and processes of known settings."""

import math

import numpy as np
import pytest
from scipy import stats

from bnnbench.methods.gp.evidence import CORRELATIONS, evidence
from bnnbench.methods.gp.map_kernels import Objective, most_probable


def rows(count=20, features=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, features)), rng.normal(size=count)


@pytest.mark.parametrize("noise_std", [None, 0.4])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("name", ["rbf", "matern52"])
def test_the_gradient_is_that_of_differences(name, shared, noise_std):
    objective = Objective(name, shared, *rows(), noise_std)
    logs = objective.start(1.7, 0.4) + np.linspace(-0.3, 0.2, len(objective.start(1.7, 0.4)))
    steps = 1e-6 * np.eye(len(logs))
    slopes = [(objective(logs + s)[0] - objective(logs - s)[0]) / 2e-6 for s in steps]
    np.testing.assert_allclose(objective(logs)[1], slopes, atol=2e-5)


def test_the_value_is_the_evidence_and_normal_densities_of_the_logarithms():
    inputs, targets = rows()
    objective = Objective("rbf", False, inputs, targets)
    one = np.array([0.2, 0.5, -0.1, 1.0, -0.7])
    other = np.array([-0.1, 0.1, 0.9, 0.4, -1.3])

    def expected(logs):
        signal, lengths, noise = np.exp(2 * logs[0]), np.exp(logs[1:4]), np.exp(2 * logs[4])
        value = evidence(CORRELATIONS["rbf"], inputs, targets, signal, lengths, noise)[0]
        value += stats.norm(0, 0.5).logpdf(logs[0]) + stats.norm(math.log(0.3), 1).logpdf(logs[4])
        middle = math.sqrt(2) + math.log(3) / 2
        return value + stats.norm(middle, math.sqrt(3)).logpdf(logs[1:4]).sum()

    difference = objective(other)[0] - objective(one)[0]
    assert difference == pytest.approx(expected(one) - expected(other), rel=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_length_and_noise_of_a_draw_are_recovered(seed):
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(200, 2))
    squares = ((inputs[:, None] - inputs[None]) ** 2).sum(-1)
    covariance = np.exp(-0.5 * squares) + 1e-10 * np.eye(200)
    draw = np.linalg.cholesky(covariance) @ rng.normal(size=200)
    objective = Objective("rbf", True, inputs, draw + 0.1 * rng.normal(size=200))
    kernel = objective.kernel(most_probable(objective, [objective.start(2**0.5, 0.3)], 1e-8))
    assert kernel.lengths == pytest.approx([1.0, 1.0], rel=0.15)
    assert kernel.noise**0.5 == pytest.approx(0.1, rel=0.2)

"""Distributions of functions and targets, and their posteriors, by closed forms and peers."""

import numpy as np
import pytest
import torch
from scipy.special import softmax
from scipy.stats import chisquare, kstest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from bnnbench.datasets.official.uci import Uci
from bnnbench.methods.hmc.method import Hmc
from bnnbench.methods.networks.architectures import Linear
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.networks.priors import FixedPrecision
from bnnbench.suites.truth.known.distributions import (
    ClassTargets,
    GaussianTargets,
    NetworkLaw,
    OracleProblem,
    ProcessLaw,
)
from bnnbench.suites.truth.known.making import Recipe
from bnnbench.suites.truth.known.posteriors import of_networks, of_process

PROCESS = ProcessLaw(1.7, (0.5, 2.0))
ROWS = np.random.default_rng(0).normal(size=(30, 2))


def test_the_posterior_of_a_process_is_scikit_learns():
    rng = np.random.default_rng(1)
    y = PROCESS.draw(ROWS, rng)[:, 0] + 0.3 * rng.standard_normal(30)
    test = rng.normal(size=(8, 2))
    kernel = ConstantKernel(1.7) * RBF([0.5, 2.0])
    peer = GaussianProcessRegressor(kernel, alpha=0.09, optimizer=None).fit(ROWS, y)
    mean, std = peer.predict(test, return_std=True)
    found = of_process(PROCESS, 0.3, ROWS, y, test)
    np.testing.assert_allclose(found.mean[:, 0], mean, atol=1e-7)
    np.testing.assert_allclose(found.std, std, atol=1e-7)


def test_values_of_a_process_are_normal_with_its_covariances():
    points = np.array([[0.0, 0.0], [0.5, 0.0], [0.0, 2.0], [0.0, 0.0]])
    rng = np.random.default_rng(2)
    draws = np.stack([PROCESS.draw(points, rng)[:, 0] for _ in range(4000)])
    assert (draws[:, 0] == draws[:, 3]).all()
    expected = 1.7 * np.exp(-0.5 * np.array([[0, 1, 1], [1, 0, 2], [1, 2, 0]]))
    np.testing.assert_allclose(np.cov(draws[:, :3].T), expected, atol=5 * 1.7 * (2 / 4000) ** 0.5)
    assert kstest(draws[:, 0] / 1.7**0.5, "norm").pvalue > 1e-3


def test_networks_have_the_variance_that_their_prior_gives_in_closed_form():
    law = NetworkLaw((Linear(3),), FixedPrecision(0.5))  # linear: f = w [x; 1] / sqrt(3), per class
    rng = np.random.default_rng(3)
    draws = np.stack([law.draw(ROWS[:2], rng) for _ in range(4000)])
    assert draws.shape == (4000, 2, 3)
    expected = 2.0 * ((ROWS[:2] ** 2).sum(1) + 1) / 3
    np.testing.assert_allclose(draws.var(0), np.outer(expected, np.ones(3)), rtol=0.12)


def test_classes_are_as_frequent_as_their_probabilities():
    f = np.tile([[0.3, -1.0, 1.2]], (6000, 1))
    drawn = ClassTargets().draw(f, np.random.default_rng(4))
    expected = softmax([0.3, -1.0, 1.2])
    np.testing.assert_allclose(ClassTargets().truth(f)[0], expected)
    assert chisquare(np.bincount(drawn.astype(int)), 6000 * expected).pvalue > 1e-3


def test_chains_have_the_posterior_of_a_linear_network_in_closed_form():
    prior, noise_std = FixedPrecision(1.0), 0.4
    problem = OracleProblem(
        Uci("yacht"), NetworkLaw((Linear(1),), prior), GaussianTargets(noise_std), count=1
    )
    train, test = ROWS[:20], ROWS[20:]
    ((targets, _), _), *_ = problem.drawn(train, test)
    sampler = Hmc(draws=4000, thinning=1, warmup=300, chains=8, prior_precision=1.0)
    (found,) = of_networks(problem, sampler, train, [targets], test, 1)
    design, tested = (np.hstack([x, np.ones((len(x), 1))]) / 3**0.5 for x in (train, test))
    covariance = np.linalg.inv(design.T @ design / noise_std**2 + np.eye(3))
    mean = tested @ covariance @ design.T @ targets / noise_std**2
    std = np.sqrt(np.einsum("ij,jk,ik->i", tested, covariance, tested))
    error = std / found.convergence["ess_bulk"] ** 0.5
    assert (np.abs(found.mean[:, 0] - mean) < 5 * error).all()
    np.testing.assert_allclose(found.std, std, rtol=0.1)
    assert found.convergence["r_hat"] < 1.01


def test_classes_are_sampled_under_their_own_likelihood():
    problem = OracleProblem(
        Uci("yacht"), NetworkLaw(mlp([4], 2), FixedPrecision(0.1)), ClassTargets(), count=1
    )
    ((targets, _), (_, truth)), *_ = problem.drawn(ROWS, ROWS[:5])
    sampler = Hmc(draws=800, thinning=1, warmup=200, chains=4)
    (found,) = of_networks(problem, sampler, ROWS, [targets], ROWS[:5], 2)
    assert found.mean.shape == truth.shape == (5, 2)
    np.testing.assert_allclose(found.mean.sum(1), 1)
    # Two classes: the deviation of the vector is the root of two times that of one probability.
    draws = torch.as_tensor(found.prediction.pack()["log_probs"]).exp().numpy()
    np.testing.assert_allclose(found.std, draws[:, :, 0].std(0) * 2**0.5, rtol=1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ProcessLaw(1.0, ()), "lengths above 0"),
        (lambda: ProcessLaw(-1.0, (1.0,)), "above 0"),
        (lambda: GaussianTargets(0.0), "noise_std above 0"),
        (lambda: Recipe(OracleProblem(Uci("yacht"), PROCESS, ClassTargets())), "no closed form"),
        (lambda: Recipe(OracleProblem(Uci("yacht"), PROCESS, GaussianTargets(1.0)), Hmc()),
         "and none for processes"),
    ],
)  # fmt: skip
def test_laws_without_sense_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()

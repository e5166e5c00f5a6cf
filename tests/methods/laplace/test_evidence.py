"""The evidence, compared with conjugate models, quadrature and finite differences."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm

from bnnbench.datasets.base import Categorical, Gaussian, Split
from bnnbench.methods.base import Problem
from bnnbench.methods.fitting.network_posterior import NetworkPosterior
from bnnbench.methods.laplace.evidence import PRECISIONS, Evidence, maximise_evidence
from bnnbench.methods.laplace.method import Approximation
from bnnbench.methods.laplace.structures import Full
from bnnbench.methods.networks.architectures import Linear
from bnnbench.methods.networks.torch_network import TorchNetwork
from tests.methods.problems import classification, design, exact_posterior, regression

POSITIVE = st.floats(1e-3, 1e3)
EVIDENCES = st.builds(
    lambda values, norm, misfit, targets: Evidence(np.array(values), norm, misfit, targets),
    st.lists(st.floats(0.0, 1e3), min_size=1, max_size=8),
    POSITIVE,
    POSITIVE,
    st.none() | st.integers(1, 100),
)


def at_exact_mean(problem: Problem, noise_std: float, prior: float) -> Approximation:
    """Return the approximation of a linear regression around its exact posterior mean."""
    network = TorchNetwork(problem.architecture, problem.input_shape)
    mean, _ = exact_posterior(problem, noise_std, prior)
    buffers = network.initial_buffers(mean[None])
    mode = NetworkPosterior(network, problem.likelihood, mean[None], buffers, noise_std**2, {})
    return Approximation.of(mode, Full(), problem)


@pytest.mark.parametrize(("noise_std", "prior"), [(0.5, 1.0), (0.2, 10.0), (1.5, 0.01)])
def test_of_a_linear_regression_it_is_the_density_of_the_targets(noise_std, prior):
    problem = regression(rows=20, architecture=(Linear(1),), dtype=torch.float64)
    rows = design(problem).numpy()
    covariance = rows @ rows.T / prior + noise_std**2 * np.eye(20)
    exact = multivariate_normal.logpdf(problem.train.targets[:, 0], cov=covariance)
    found = at_exact_mean(problem, noise_std, prior).evidence.log(prior, noise_std**-2)
    assert found == pytest.approx(exact, rel=1e-9)


def test_of_one_weight_it_is_the_integral_by_quadrature():
    inputs = torch.tensor([[0.4], [-1.0], [2.0]], dtype=torch.float64)
    targets = torch.tensor([[0.1], [-0.9], [1.2]], dtype=torch.float64)
    problem = Problem(Split(inputs, targets), Gaussian(0.7), (Linear(1, bias=False),))
    network = TorchNetwork(problem.architecture, (1,))
    precision = float(inputs.square().sum()) / 0.49 + 2.0
    mean = (inputs * targets).sum() / 0.49 / precision
    mode = NetworkPosterior(
        network, problem.likelihood, mean.view(1, 1), torch.zeros(1, 0).double(), 0.49, {}
    )
    found = Approximation.of(mode, Full(), problem).evidence.log(2.0, 1 / 0.49)

    def density(weight: float) -> float:
        likely = norm.pdf(targets[:, 0], weight * inputs[:, 0], 0.7).prod()
        return float(likely * norm.pdf(weight, 0, math.sqrt(0.5)))

    exact, _ = quad(density, -10, 10, points=[float(mean)], epsabs=1e-14)
    assert found == pytest.approx(math.log(exact), abs=1e-9)


def test_of_a_sharp_logistic_regression_it_is_near_the_integral_by_quadrature():
    inputs = torch.linspace(-2, 2, 200, dtype=torch.float64)[:, None]
    targets = (inputs[:, 0] + 0.8 * torch.sin(40 * inputs[:, 0]) > 0).long()
    problem = Problem(Split(inputs, targets), Categorical(2), (Linear(2, bias=False),))
    network = TorchNetwork(problem.architecture, (1,))

    def log_joint(weight: float) -> float:
        # Only the difference of both weights matters; its prior is N(0, 2) for N(0, 1).
        sign = 2 * targets.double() - 1
        likely = torch.nn.functional.logsigmoid(sign * weight * inputs[:, 0]).sum()
        return float(likely) + norm.logpdf(weight, 0, math.sqrt(2.0))

    grid = np.linspace(0, 10, 20001)
    best = grid[np.argmax([log_joint(w) for w in grid[::20]]) * 20]
    area, _ = quad(lambda w: math.exp(log_joint(w) - log_joint(best)), -5, 20, points=[best])
    weights = torch.tensor([[-best / 2, best / 2]], dtype=torch.float64)
    mode = NetworkPosterior(
        network, problem.likelihood, weights, torch.zeros(1, 0).double(), None, {}
    )
    found = Approximation.of(mode, Full(), problem).evidence.log(1.0)
    assert found == pytest.approx(log_joint(best) + math.log(area), abs=0.05)


@given(EVIDENCES, POSITIVE, POSITIVE)
def test_its_slopes_are_its_differences(evidence, prior, noise):
    at, step = np.log([prior, noise]), 1e-5
    _, slopes = evidence.with_slopes(*at)
    for axis in range(2):
        ahead, behind = at.copy(), at.copy()
        ahead[axis] += step
        behind[axis] -= step
        difference = evidence.with_slopes(*ahead)[0] - evidence.with_slopes(*behind)[0]
        size = abs(evidence.with_slopes(*at)[0]) + 1
        assert slopes[axis] == pytest.approx(difference / (2 * step), rel=1e-4, abs=1e-6 * size)


def test_the_most_evident_precisions_agree_with_a_grid():
    problem = regression(rows=40, architecture=(Linear(1),), dtype=torch.float64)
    evidence = at_exact_mean(problem, 0.3, 1.0).evidence
    found = maximise_evidence(evidence, 1.0, learns_noise=True)
    grid = np.geomspace(1e-3, 1e3, 200)
    most = max(evidence.log(prior, noise) for prior in grid for noise in grid)
    best = evidence.log(found.prior, found.noise)
    assert most <= best <= most + 0.01
    assert found.within_bounds


def test_the_most_evident_precisions_satisfy_the_updates_of_mackay():
    problem = regression(rows=40, architecture=(Linear(1),), dtype=torch.float64)
    evidence = at_exact_mean(problem, 0.3, 1.0).evidence
    found = maximise_evidence(evidence, 1.0, learns_noise=True)
    effective = evidence.effective_parameters(found.prior, found.noise)
    assert found.prior == pytest.approx(effective / evidence.squared_norm, rel=1e-4)
    assert found.noise == pytest.approx((40 - effective) / (2 * evidence.misfit), rel=1e-4)


def test_known_noise_stays():
    problem = regression(rows=40, architecture=(Linear(1),), dtype=torch.float64)
    evidence = at_exact_mean(problem, 0.3, 1.0).evidence
    found = maximise_evidence(evidence, 7.0, learns_noise=False)
    assert found.noise == 7.0
    effective = evidence.effective_parameters(found.prior, 7.0)
    assert found.prior == pytest.approx(effective / evidence.squared_norm, rel=1e-4)


def test_a_precision_without_a_maximum_is_kept_in_bounds_and_said_so():
    flat = Evidence(np.zeros(3), 2.0, 5.0, None)
    found = maximise_evidence(flat, 1.0, learns_noise=False)
    assert found.prior == pytest.approx(PRECISIONS[0], rel=1e-3)
    assert not found.within_bounds


def test_a_classifier_has_its_log_likelihood_in_it():
    problem = classification(dtype=torch.float64, architecture=(Linear(3),))
    network = TorchNetwork(problem.architecture, (4,))
    weights = torch.zeros(1, 15, dtype=torch.float64)
    mode = NetworkPosterior(
        network, problem.likelihood, weights, torch.zeros(1, 0).double(), None, {}
    )
    at = Approximation.of(mode, Full(), problem)
    assert at.evidence.misfit == pytest.approx(37 * math.log(3))
    assert at.evidence.targets is None
    assert at.noise == 1.0

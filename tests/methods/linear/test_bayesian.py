"""Bayesian linear regression, by joint densities and numbers computed elsewhere."""

import numpy as np
import pytest
import scipy.stats
import torch

from bnnbench.datasets.base import Gaussian, Split
from bnnbench.methods.base import Problem, Unsupported
from bnnbench.methods.linear.bayesian import BayesianLinear
from bnnbench.methods.neural_linear import Features, NeuralLinearPosterior, Regression
from tests.methods.problems import classification, images, regression, stream

PHI = torch.tensor(np.sin(1 + np.arange(6)[:, None] + 2 * np.arange(3)[None]))
TARGETS = torch.tensor(np.cos(0.7 * np.arange(6)))[:, None]


def test_evidence_posterior_and_predictive_are_those_of_a_known_case():
    """The numbers are of a separate implementation; the evidence is also SciPy's."""
    model, nothing = Regression.of(PHI, TARGETS, 1.0, 1.0), torch.zeros(1, 0)
    assert model.log_evidence(2.0) == pytest.approx(-6.944277615771, abs=1e-11)
    scale = np.eye(6) + PHI.numpy() @ PHI.numpy().T / 2
    exact = scipy.stats.multivariate_t.logpdf(TARGETS[:, 0], np.zeros(6), scale, df=2)
    assert model.log_evidence(2.0) == pytest.approx(exact, rel=1e-9)
    assert float(model.rates(2.0)[0]) == pytest.approx(1.6682110876, abs=1e-9)
    posterior = NeuralLinearPosterior(Features(None, nothing, nothing, False), model, 2.0, True)
    units = posterior.predict(torch.eye(3, dtype=torch.float64), stream(1))
    expected = [0.44901443, -0.31610660, -0.18592091]
    assert units.locations[0, :, 0].tolist() == pytest.approx(expected, abs=1e-8)
    found = posterior.predict(torch.tensor([[0.3, -0.2, 0.9]], dtype=torch.float64), stream(1))
    assert float(found.degrees) == 8
    assert float(found.locations) == pytest.approx(0.0305968333, abs=1e-9)
    assert float(found.scales) == pytest.approx(0.7327743561, abs=1e-9)
    at = torch.tensor([[0.5]], dtype=torch.float64)
    assert float(found.log_prob(at)) == pytest.approx(-0.8642866375, abs=1e-9)


def test_a_prediction_is_the_joint_density_of_all_targets_over_that_of_the_known_ones():
    problem = regression(rows=15, dtype=torch.float64)
    posterior = BayesianLinear(noise_shape=1.5, noise_rate=0.3).fit(problem, stream(1))
    precision = posterior.diagnostics["prior_precision"]
    new = torch.randn(3, 4, generator=stream(2), dtype=torch.float64)
    inputs, targets = problem.train.inputs, problem.train.targets[:, 0].numpy()
    found = posterior.predict(new, stream(3)).log_prob(torch.full((3, 1), 0.4, dtype=torch.float64))

    def log_joint(rows: torch.Tensor, values: np.ndarray) -> float:
        phi = np.concatenate([rows.numpy(), np.ones((len(rows), 1))], 1)
        scale = 0.3 / 1.5 * (np.eye(len(phi)) + phi @ phi.T / precision)
        return scipy.stats.multivariate_t.logpdf(values, np.zeros(len(phi)), scale, df=3)

    for point in range(3):
        joint = log_joint(torch.cat([inputs, new[point : point + 1]]), np.append(targets, 0.4))
        exact = joint - log_joint(inputs, targets)
        assert float(found[point]) == pytest.approx(exact, rel=1e-8)


def test_the_precision_has_more_evidence_than_others():
    problem = regression(rows=40, dtype=torch.float64)
    posterior = BayesianLinear().fit(problem, stream(1))
    assert posterior.diagnostics["converged"] == 1
    phi = np.concatenate([problem.train.inputs.numpy(), np.ones((40, 1))], 1)

    def evidence(precision: float) -> float:
        scale = np.eye(40) + phi @ phi.T / precision
        targets = problem.train.targets[:, 0].numpy()
        return scipy.stats.multivariate_t.logpdf(targets, np.zeros(40), scale, df=2)

    best = evidence(posterior.diagnostics["prior_precision"])
    assert best == pytest.approx(posterior.diagnostics["log_evidence"], rel=1e-9)
    assert best >= max(evidence(precision) for precision in np.geomspace(1e-3, 1e3, 61))


def test_the_parts_of_an_image_are_its_inputs():
    problem = images(real=True, dtype=torch.float64)
    flat = Split(problem.train.inputs.flatten(1), problem.train.targets)
    ours, of_flat = (
        BayesianLinear().fit(Problem(rows, Gaussian(), ()), stream(1)).predict(
            rows.inputs, stream(2)
        )
        for rows in (problem.train, flat)
    )  # fmt: skip
    torch.testing.assert_close(ours.locations, of_flat.locations)


def test_classes_and_a_known_noise_are_refused_with_the_cure():
    with pytest.raises(Unsupported, match="use LogisticRegression"):
        BayesianLinear().fit(classification(), stream(1))
    with pytest.raises(Unsupported, match="needed a regression of unknown noise"):
        BayesianLinear().fit(regression(noise_std=0.5), stream(1))


def test_without_a_linear_relation_it_predicts_the_targets_own_distribution():
    """A target that is even in its only input, which is symmetric, has no linear part."""
    half = torch.linspace(0.1, 2, 20, dtype=torch.float64)[:, None]
    inputs = torch.cat([half, -half])
    targets = inputs.square() - inputs.square().mean()
    posterior = BayesianLinear().fit(
        Problem(Split(inputs, targets), Gaussian(), ()), stream(1)
    )  # fmt: skip
    assert posterior.diagnostics["converged"] == 1
    found = posterior.predict(torch.tensor([[0.0], [2.0]], dtype=torch.float64), stream(2))
    np.testing.assert_allclose(found.mean, 0, atol=1e-6)
    scale = np.sqrt((1 + float(targets.square().sum()) / 2) / 21)
    np.testing.assert_allclose(found.scales[0], scale, rtol=1e-6)

"""Deep evidential regression, compared with scipy's densities and with its own equations."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import integrate, stats

from bnnbench.datasets.base import Gaussian
from bnnbench.methods.base import Unsupported
from bnnbench.methods.evidential import Evidential, losses, negative_log_likelihood
from bnnbench.methods.networks.architectures import Linear, ReLU
from tests.methods.problems import classification, regression, stream

PRINTED = [
    ((0.7, 0.2, 1.5, 2.5, 0.8), -0.923151735413),
    ((3.0, 0.0, 0.1, 1.2, 0.05), -4.399736555104),
    ((0.0, 0.0, 1.0, 2.0, 1.0), -0.980829253012),
]


def log_density(target, location, nu, alpha, beta):
    values = (
        torch.tensor([[[x]]], dtype=torch.float64) for x in (target - location, nu, alpha, beta)
    )
    return -float(negative_log_likelihood(*values))


@pytest.mark.parametrize(("values", "printed"), PRINTED)
def test_the_likelihood_is_the_density_of_students_t(values, printed):
    target, location, nu, alpha, beta = values
    scale = (beta * (1 + nu) / (nu * alpha)) ** 0.5
    expected = stats.t(2 * alpha, location, scale).logpdf(target)
    assert log_density(*values) == pytest.approx(expected, abs=1e-12)
    assert log_density(*values) == pytest.approx(printed, abs=1e-11)


def test_the_likelihood_is_the_integral_over_means_and_variances():
    target, location, nu, alpha, beta = PRINTED[0][0]

    def density(variance):
        of_target = stats.norm(location, (variance * (1 + 1 / nu)) ** 0.5).pdf(target)
        return of_target * stats.invgamma(alpha, scale=beta).pdf(variance)

    found, _ = integrate.quad(density, 0, np.inf)
    assert log_density(target, location, nu, alpha, beta) == pytest.approx(np.log(found), abs=1e-7)


def test_evidence_and_scale_cannot_be_told_apart():
    """β (1 + ν) / ν alone decides the likelihood."""
    one, other = (0.7, 0.2, 1.5, 2.5, 0.8), (0.7, 0.2, 0.3, 2.5, 0.8 * (2.5 / 1.5) / (1.3 / 0.3))
    assert log_density(*one) == pytest.approx(log_density(*other), abs=1e-12)


def test_the_loss_adds_errors_times_evidence():
    raw = torch.tensor([[[0.3, 0.4, -0.2, 0.1]]]).double()
    target = torch.tensor([[[1.5]]]).double()
    without, with_errors = (
        float(losses(raw, target, torch.tensor([[weight]]).double())) for weight in (0.0, 0.01)
    )
    nu, alpha = (float(torch.nn.functional.softplus(torch.tensor(x).double())) for x in (0.4, -0.2))
    assert with_errors - without == pytest.approx(0.01 * 1.2 * (2 * nu + 1 + alpha), rel=1e-5)


def test_a_prediction_has_students_density_and_learns_the_noise():
    problem = regression(rows=400, true_std=0.3, dtype=torch.float64)
    posterior = Evidential(epochs=40, learning_rate=0.01).fit(problem, stream(0))
    predicted = posterior.predict(problem.train.inputs, stream(1))
    locations, scales, degrees = (
        values[0, :, 0].numpy()
        for values in (predicted.locations, predicted.scales, predicted.degrees)
    )
    expected = stats.t(degrees, locations, scales).logpdf(problem.train.targets[:, 0])
    np.testing.assert_allclose(predicted.log_prob(problem.train.targets), expected)
    assert (degrees > 2).all()
    truth = stats.norm(0, 0.3).entropy()
    assert -expected.mean() == pytest.approx(truth, abs=0.15)


def test_targets_in_other_units_are_predicted_in_theirs():
    problem = regression(dtype=torch.float64)
    moved = replace(problem, train=replace(problem.train, targets=7 + 1000 * problem.train.targets))
    one, other = (
        Evidential(epochs=5).fit(p, stream(0)).predict(problem.train.inputs, stream(1))
        for p in (problem, moved)
    )
    torch.testing.assert_close(other.locations, 7 + 1000 * one.locations)
    torch.testing.assert_close(other.scales, 1000 * one.scales)
    torch.testing.assert_close(other.degrees, one.degrees)


@pytest.mark.parametrize(
    "problem",
    [
        classification(),
        replace(regression(), likelihood=Gaussian(0.3)),
        regression(architecture=(Linear(1), ReLU())),
    ],
)
def test_other_problems_are_refused(problem):
    with pytest.raises(Unsupported, match="needed"):
        Evidential().fit(problem, stream(0))


def test_a_negative_weight_is_refused():
    with pytest.raises(ValueError, match="regularisation"):
        Evidential(regularisation=-0.1)

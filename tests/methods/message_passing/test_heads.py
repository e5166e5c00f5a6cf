"""The noise of the argmax head's predictions, by quadrature and sampled outputs."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import norm

from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.heads import Classification
from bnnbench.methods.message_passing.kernels import reference
from bnnbench.methods.message_passing.method import MessagePassing
from bnnbench.methods.message_passing.schedule import Coupled
from tests.methods.problems import classification, stream

RULES = ["pairs", "largest"]
NOISES = [0.05, 2.0]
MEAN = np.array([[0.4, -0.3, 0.1, -1.2], [2.0, 1.6, -2.0, 0.0]])
VARIANCE = np.array([[0.2, 0.7, 0.01, 1.3], [0.5, 0.1, 0.9, 0.3]])
Z = Gaussian.of(torch.tensor(MEAN)[None], torch.tensor(VARIANCE)[None])
ALL = slice(None)


def by_quadrature(rule: str, mean: np.ndarray, variance: np.ndarray, noise: float) -> np.ndarray:
    """Return the rule's result for one point."""
    found = []
    for k in range(len(mean)):
        others = np.arange(len(mean)) != k
        if rule == "pairs":
            root = np.sqrt(variance[k] + variance[others] + noise)
            found.append(np.prod(ndtr((mean[k] - mean[others]) / root)))
            continue
        std = np.sqrt(variance + noise / 2)  # the noise of a difference, half on either output

        def density(u: float, k: int = k, others: np.ndarray = others, std: np.ndarray = std):
            beaten = np.prod(ndtr((u - mean[others]) / std[others]))
            return norm.pdf(u, mean[k], std[k]) * beaten

        found.append(quad(density, mean[k] - 10 * std[k], mean[k] + 10 * std[k], limit=200)[0])
    return np.array(found) / np.sum(found)


def head(rule: str, **settings: float) -> Classification:
    return Classification(largest=rule == "largest", **settings)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("rule", RULES)
def test_it_predicts_with_its_own_noise_in_closed_form(rule, noise):
    found = head(rule, predictive_variance=noise).predictive(Z, None).log_probs[0].exp()
    expected = [by_quadrature(rule, *point, noise) for point in zip(MEAN, VARIANCE, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("rule", RULES)
def test_it_predicts_with_its_own_noise_by_draws(rule, noise):
    outputs = torch.tensor(np.stack((MEAN, MEAN[::-1], -MEAN)))
    found = head(rule, predictive_variance=noise).predictive_of_draws(outputs, None)
    expected = [
        [by_quadrature(rule, point, np.zeros(4), noise) for point in draw]
        for draw in outputs.numpy()
    ]
    np.testing.assert_allclose(found.log_probs.exp(), expected, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_without_its_own_it_predicts_with_that_of_training(rule):
    trained = head(rule, noise_variance=0.7)
    named = replace(trained, predictive_variance=0.7)
    for one, other in (
        (trained.predictive(Z, None), named.predictive(Z, None)),
        (trained.predictive_of_draws(Z.mean, None), named.predictive_of_draws(Z.mean, None)),
    ):
        assert torch.equal(one.log_probs, other.log_probs)
    expected = by_quadrature(rule, MEAN[0], VARIANCE[0], 0.7)
    np.testing.assert_allclose(trained.predictive(Z, None).log_probs[0, 0].exp(), expected, 1e-6)


@pytest.mark.parametrize("rule", RULES)
def test_training_knows_nothing_of_it(rule):
    labels = torch.tensor([[2, 0]])
    found = []
    for own in (head("pairs"), head(rule, predictive_variance=5.0)):
        own.open(labels, None, reference)
        message = own.message(Z, ALL)
        found.append((message.tau, message.rho, own.loss(Z, ALL)))
    for trained, other in zip(*found, strict=True):
        assert torch.equal(trained, other)


@pytest.mark.parametrize("draws", [0, 3])
@pytest.mark.parametrize("rule", RULES)
def test_a_fit_hands_it_to_predictions_alone(rule, draws):
    problem = classification()
    published = MessagePassing(
        (1, 1), 16, Coupled(8), class_probabilities=rule, predictive_draws=draws
    )
    fits = [
        replace(published, predictive_variance=noise).fit(problem, stream(0))
        for noise in (None, published.argmax_variance, 4.0)
    ]
    for own in zip(*(fit.weights for fit in fits), strict=True):
        for parts in zip(*(weights.parts() for weights in own), strict=True):
            for part in parts[1:]:
                assert torch.equal(part.tau, parts[0].tau)
                assert torch.equal(part.rho, parts[0].rho)
    trained, named, wide = (
        fit.predict(problem.train.inputs[:5], stream(1)).log_probs for fit in fits
    )
    assert trained.shape[0] == max(1, draws)
    assert torch.equal(trained, named)
    assert (wide.amax(-1) < trained.amax(-1)).all()

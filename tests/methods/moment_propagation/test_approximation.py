"""One trained network, and the ways to propagate moments through it."""

from dataclasses import replace

import pytest
import torch

from bnnbench.datasets.base import Categorical, Split
from bnnbench.methods.base import Problem, Unsupported
from bnnbench.methods.moment_propagation.approximation import Approximation
from bnnbench.methods.moment_propagation.method import MomentPropagation
from bnnbench.methods.moment_propagation.untrained import Untrained
from bnnbench.methods.moments.covariances.covariance import Covariances
from bnnbench.methods.moments.rules import Formulas
from bnnbench.methods.networks.architectures import (
    Dropout,
    Flatten,
    GaussianNoise,
    LeakyReLU,
    Linear,
    LogisticBernoulli,
)
from tests.methods.problems import regression, stream

BRIEF = MomentPropagation(epochs=2, batch_size=8, dropout=0.0)
NOISY = (GaussianNoise(0.3), Linear(5), LeakyReLU(0.01), Dropout(0.2), Linear(3))
WAYS = {
    "AP1": Approximation("ap1", training=BRIEF),
    "AP2": Approximation("ap2", training=BRIEF),
    "paper": Approximation("ap2", Formulas(variance="paper"), training=BRIEF),
    "covariances": Approximation("ap2", covariances=Covariances(), training=BRIEF),
}


def problem(architecture=NOISY) -> Problem:
    rng = stream(3)
    inputs = torch.randn(24, 4, generator=rng)
    return Problem(Split(inputs, inputs[:, :3].argmax(1)), Categorical(3), architecture)


@pytest.mark.parametrize("architecture", [NOISY, (Linear(4), LogisticBernoulli(), Linear(3))])
def test_every_way_has_the_same_weights_whichever_was_fitted_first(architecture):
    given = problem(architecture)
    first = {n: m.fit(given, stream(0)).trained.weights for n, m in WAYS.items()}
    for name, method in reversed(WAYS.items()):
        assert torch.equal(method.fit(given, stream(0)).trained.weights, first["AP1"]), name
        assert torch.equal(first[name], first["AP1"])


def test_a_shared_fit_propagates_as_one_of_its_own():
    given, fitted = problem(), WAYS["AP1"].fit(problem(), stream(0))
    for method in WAYS.values():
        own, shared = method.fit(given, stream(0)), method.from_fit(fitted)
        one, two = (each.predict(given.train.inputs, stream(1)) for each in (own, shared))
        assert torch.equal(one.log_probs, two.log_probs)


def test_other_data_and_other_streams_are_trained_anew():
    given, method = problem(), WAYS["AP1"]
    weights = method.fit(given, stream(0)).trained.weights
    assert not torch.equal(method.fit(given, stream(1)).trained.weights, weights)
    other = replace(given, train=Split(given.train.inputs + 1, given.train.targets))
    assert not torch.equal(method.fit(other, stream(0)).trained.weights, weights)


def test_a_network_is_trained_without_the_noise_of_its_inputs():
    noisy = WAYS["AP1"].fit(problem(), stream(0))
    still = WAYS["AP1"].fit(problem(NOISY[1:]), stream(0))
    assert torch.equal(noisy.trained.weights, still.trained.weights)
    assert noisy.architecture == NOISY


def test_a_network_can_be_trained_with_the_noise_of_its_inputs():
    method = replace(WAYS["AP2"], train_with_input_noise=True)
    noisy = method.fit(problem(), stream(0))
    as_trained = replace(BRIEF, training="sample").fit(problem(), stream(0))
    assert torch.equal(noisy.trained.weights, as_trained.at_mean.weights)
    still = WAYS["AP2"].fit(problem(), stream(0))
    assert not torch.equal(noisy.trained.weights, still.trained.weights)
    # The noise of the inputs counts once, whichever way the network was trained.
    inputs = problem().train.inputs
    (weights,) = noisy.trained.weights
    expected = 0.3 * weights[:20].view(5, 4).square().sum(1)
    assert torch.allclose(noisy.layers(inputs)[1].variance, expected.expand(24, 5), rtol=1e-5)


def test_the_ways_differ_in_what_they_carry():
    inputs = problem().train.inputs
    posteriors = {name: method.fit(problem(), stream(0)) for name, method in WAYS.items()}
    layers = {name: posterior.layers(inputs) for name, posterior in posteriors.items()}
    assert all(layer.variance is None for layer in layers["AP1"])
    first = layers["AP2"][1]
    # The variance of one linear layer is known: 0.3 times the squared weights.
    (weights,) = posteriors["AP2"].trained.weights
    expected = 0.3 * weights[:20].view(5, 4).square().sum(1)
    assert torch.allclose(first.variance, expected.expand(24, 5), rtol=1e-5)
    ends = [layers[name][-1].variance for name in ("AP2", "paper", "covariances")]
    assert not any(torch.allclose(a, b) for a, b in zip(ends, ends[1:] + ends[:1], strict=True))


def test_predictions_agree_with_the_last_layer():
    inputs = problem().train.inputs
    for method in WAYS.values():
        posterior = method.fit(problem(), stream(0))
        prediction = posterior.predict(inputs, stream(9))
        (log_probs,) = prediction.log_probs
        last = posterior.layers(inputs)[-1]
        variance = 0 if last.variance is None else last.variance
        simplified = (last.mean / (1 + 3 * variance / torch.pi**2) ** 0.5).log_softmax(1)
        assert torch.allclose(log_probs, simplified, atol=1e-5)


def test_samples_are_independent_for_every_point_and_have_the_network_s_noise():
    posterior = WAYS["AP1"].fit(problem(), stream(0))
    repeated = problem().train.inputs[:1].expand(20_000, -1)
    noise, first, *_ = posterior.samples(repeated, stream(1))
    moments = WAYS["AP2"].fit(problem(), stream(0)).layers(repeated[:1])
    assert noise.var(0).sub(0.3).abs().max() < 5 * 0.3 * (2 / 20_000) ** 0.5
    error = (moments[1].variance[0] / 20_000).sqrt()
    assert ((first.mean(0) - moments[1].mean[0]).abs() < 5 * error).all()


def test_joint_fits_equal_separate_fits():
    given = [problem(), problem(NOISY[1:])]
    for method in WAYS.values():
        many = method.fit_many(given, [stream(0), stream(1)])
        alone = [method.fit(p, stream(s)) for s, p in enumerate(given)]
        for one, other in zip(many, alone, strict=True):
            assert torch.equal(one.trained.weights, other.trained.weights)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"propagation": "ap1", "covariances": Covariances()}, "covariances need"),
        ({"training": MomentPropagation(dropout=0.2)}, "into the network"),
        ({"training": MomentPropagation(dropout=0.0, input_variance=0.1)}, "into the network"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(settings, reason):
    with pytest.raises(ValueError, match=reason):
        Approximation(**settings)


def test_images_are_flattened_like_elsewhere():
    rng = stream(4)
    inputs = torch.randn(16, 1, 2, 2, generator=rng)
    flat = (Flatten(), *NOISY)
    given = Problem(Split(inputs, inputs[:, 0, 0, 0].gt(0).long()), Categorical(3), flat)
    assert len(WAYS["covariances"].fit(given, stream(0)).layers(inputs)) == len(flat)


@pytest.mark.parametrize("method", [*WAYS.values(), Untrained()], ids=[*WAYS, "untrained"])
def test_a_regression_is_refused(method):
    with pytest.raises(Unsupported, match="needed classes; got Gaussian"):
        method.fit(regression(), stream(0))

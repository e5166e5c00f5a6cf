"""Networks of sigmoids, read as networks of random bits."""

from dataclasses import replace

import torch

from bnnbench.methods.moment_propagation.approximation import Approximation
from bnnbench.methods.moment_propagation.method import MomentPropagation
from bnnbench.methods.moment_propagation.sigmoids_as_bernoulli import SigmoidsAsBernoulli
from bnnbench.methods.networks.architectures import (
    GaussianNoise,
    Linear,
    LogisticBernoulli,
    Residual,
    Sigmoid,
)
from tests.methods.moment_propagation.test_approximation import problem
from tests.methods.problems import stream

BRIEF = MomentPropagation(epochs=2, batch_size=8, dropout=0.0)
BITS = (Linear(5), LogisticBernoulli(), Linear(3))
SIGMOIDS = (Linear(5), Sigmoid(), Linear(3))


def fitted(propagation="ap2", architecture=BITS):
    method = SigmoidsAsBernoulli(propagation, training=BRIEF)
    return method.fit(problem(architecture), stream(0))


def test_the_weights_are_those_of_a_plainly_trained_network_of_sigmoids():
    plain = replace(BRIEF, training="ap1", prediction="ap1").fit(problem(SIGMOIDS), stream(0))
    assert torch.equal(fitted().trained.weights, plain.weights)
    through_moments = Approximation(training=BRIEF).fit(problem(BITS), stream(0))
    assert not torch.allclose(through_moments.trained.weights, plain.weights)


def test_units_inside_branches_and_behind_noise_are_sigmoids_too():
    branch = Residual((Linear(4), LogisticBernoulli()), ())
    sigmoids = Residual((Linear(4), Sigmoid()), ())
    found = fitted(architecture=(GaussianNoise(0.1), branch, Linear(3)))
    plain = replace(BRIEF, training="ap1", prediction="ap1")
    expected = plain.fit(problem((sigmoids, Linear(3))), stream(0))
    assert torch.equal(found.trained.weights, expected.weights)


def test_means_alone_are_the_outputs_of_the_network_of_sigmoids():
    inputs, posterior = problem().train.inputs, fitted("ap1")
    plain = replace(BRIEF, training="ap1", prediction="ap1").fit(problem(SIGMOIDS), stream(0))
    one, two = (each.predict(inputs, stream(1)) for each in (posterior, plain))
    assert torch.allclose(one.log_probs, two.log_probs, atol=1e-6)


def test_samples_are_bits_whose_probability_is_the_sigmoid():
    posterior = fitted()
    repeated = problem().train.inputs[:1].expand(20_000, -1)
    before, bits, _ = posterior.samples(repeated, stream(1))
    assert set(bits.unique().tolist()) == {0.0, 1.0}
    probability = before[0].sigmoid()
    error = (probability * (1 - probability) / 20_000).sqrt()
    assert ((bits.mean(0) - probability).abs() < 5 * error).all()
    moments = posterior.layers(repeated[:1])[1]
    assert torch.allclose(moments.variance[0], probability * (1 - probability), atol=1e-6)


def test_a_network_without_bits_is_an_approximation():
    ours = fitted(architecture=SIGMOIDS)
    same = Approximation(training=BRIEF).fit(problem(SIGMOIDS), stream(0))
    assert torch.equal(ours.trained.weights, same.trained.weights)

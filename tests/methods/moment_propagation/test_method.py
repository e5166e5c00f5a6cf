"""Networks trained on moments: what they learn, and that their objective is a likelihood."""

import math
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.distributions import Normal

from bnnbench.datasets.base import Gaussian, Split
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import InferenceDiverged, Problem, Unsupported
from bnnbench.methods.fitting.minibatches import Minibatches
from bnnbench.methods.fitting.network_posterior import NetworkPosterior
from bnnbench.methods.fitting.training import ObservationNoise
from bnnbench.methods.moment_propagation.method import MomentPropagation, gaussian_loss
from bnnbench.methods.moment_propagation.posterior import MomentPosterior
from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.rules import moment_rules
from bnnbench.methods.networks.architectures import (
    AnalyticNorm,
    BatchNorm,
    Conv2d,
    Dropout,
    Flatten,
    LeakyReLU,
    Linear,
    LogisticBernoulli,
    ReLU,
    Residual,
    Sigmoid,
)
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.methods.predictions.predictive import CategoricalPredictive
from tests.methods.message_passing.test_learning import splits
from tests.methods.problems import classification, images, regression, stream

QUIET = MomentPropagation(dropout=0.0, epochs=3)


def accuracy(method, problem: Problem, test: Split) -> float:
    prediction = method.fit(problem, stream(0)).predict(test.inputs, stream(1))
    assert isinstance(prediction, CategoricalPredictive)
    return float((prediction.log_probs[0].argmax(1) == test.targets).double().mean())


EPOCHS = 15


@pytest.fixture(scope="module")
def accuracy_of_adamw() -> float:
    problem, test = splits((Linear(64), LeakyReLU(0.01), Linear(10)))
    return accuracy(AdamW(5e-3, epochs=EPOCHS), problem, test)


@pytest.mark.parametrize(
    ("activation", "method"),
    [
        (LeakyReLU(0.01), MomentPropagation(5e-3, EPOCHS)),
        (LeakyReLU(0.01), MomentPropagation(5e-3, EPOCHS, norm="ap2", initialisation="ap2")),
        (LeakyReLU(0.01), MomentPropagation(5e-3, EPOCHS, training="sample", prediction="ap1")),
        (LogisticBernoulli(), MomentPropagation(5e-3, EPOCHS, dropout=0.0, input_variance=0.1)),
    ],
    ids=["analytic dropout", "analytic norm", "sampled dropout", "bernoulli"],
)
def test_digits_are_read_as_well_as_by_adamw(activation, method, accuracy_of_adamw):
    problem, test = splits((Linear(64), activation, Linear(10)))
    assert accuracy_of_adamw > 0.95
    assert accuracy(method, problem, test) > accuracy_of_adamw - 0.015  # 8 of 517 digits


@pytest.mark.parametrize("make", [regression, classification, images])
def test_without_noise_moments_train_as_means_do(make):
    """Means and moments are then the same numbers; the schedule is torch's."""
    problem = make()
    ap2, ap1 = (replace(QUIET, training=mode).fit(problem, stream(0)) for mode in ("ap2", "ap1"))
    weights = [posterior.at_mean.weights for posterior in (ap2, ap1)]
    torch.testing.assert_close(*weights, rtol=1e-3, atol=1e-4)
    predictions = [p.predict(problem.train.inputs, stream(0)) for p in (ap2, ap1)]
    for one, other in zip(*(vars(p).values() for p in predictions), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3)
    assert isinstance(ap2, MomentPosterior)


def test_linear_regression_with_noisy_inputs_agrees_with_the_likelihood():
    """The variance is the noise's plus the inputs', |w|² times theirs."""
    problem = regression(noise_std=0.4, architecture=(Linear(1),), dtype=torch.float64)
    method = replace(QUIET, input_variance=0.2)
    posterior = method.fit(problem, stream(0))
    assert isinstance(posterior, MomentPosterior)
    prediction = posterior.predict(problem.train.inputs, stream(0))
    slopes = posterior.at_mean.weights[0, :4]
    expected = torch.full_like(prediction.variances, 0.4**2 + 0.2 * float(slopes.square().sum()))
    torch.testing.assert_close(prediction.variances, expected)


def test_training_ends_where_the_likelihood_is_flat():
    problem = regression(noise_std=0.4, architecture=(Linear(1),), dtype=torch.float64)
    method = replace(QUIET, input_variance=0.2, epochs=400, learning_rate=0.02, schedule="cosine")
    posterior = method.fit(problem, stream(0))
    assert isinstance(posterior, MomentPosterior)
    weights = posterior.at_mean.weights[0].clone().requires_grad_()
    inputs, targets = problem.train.inputs, problem.train.targets[:, 0]
    variance = 0.4**2 + 0.2 * weights[:4].square().sum()
    means = inputs @ weights[:4] + weights[4]
    loss = -Normal(means, variance.sqrt()).log_prob(targets).mean()
    loss.backward()
    assert weights.grad is not None
    assert weights.grad.abs().max() < 0.01
    far = torch.zeros_like(weights)
    assert -Normal(inputs @ far[:4], 0.4).log_prob(targets).mean() > loss + 0.5


def test_the_learned_noise_maximises_the_likelihood_beside_known_variances():
    problem = regression(rows=4000, dtype=torch.float64)
    rng = stream(3)
    variance = torch.rand(1, 4000, 1, generator=rng, dtype=torch.float64)
    means = torch.zeros_like(variance)
    targets = (variance + 0.3).sqrt() * torch.randn(
        variance.shape, generator=rng, dtype=torch.float64
    )
    batches = Minibatches([problem], [stream(0)], 4000)
    noise = ObservationNoise(Gaussian(), batches, torch.zeros(1, 1, dtype=torch.float64))
    for _ in range(600):
        gaussian_loss(Moments(means, variance), targets, noise)
    s = noise.variance.clone().requires_grad_()
    fitted = Normal(means, (variance + s).sqrt()).log_prob(targets).mean()
    (slope,) = torch.autograd.grad(fitted, s)
    assert abs(float(slope)) < 1e-4
    assert float(s.detach()) == pytest.approx(0.3, abs=0.05)


@pytest.mark.parametrize("variance", [None, 0.4])
def test_the_loss_is_the_mean_negative_log_likelihood_of_whole_rows(variance):
    rng = stream(1)
    means, targets = torch.randn(2, 1, 9, 2, generator=rng, dtype=torch.float64)
    batches = Minibatches([regression()], [stream(0)], 9)
    noise = ObservationNoise(Gaussian(0.6), batches, torch.zeros(1, 1, dtype=torch.float64))
    spread = None if variance is None else torch.full_like(means, variance)
    expected = -Normal(means, math.sqrt(0.36 + (variance or 0.0))).log_prob(targets).sum(-1).mean(1)
    loss = gaussian_loss(Moments(means, spread), targets, noise)
    torch.testing.assert_close(loss, expected)


def test_norms_and_dropout_are_put_where_the_paper_has_them():
    architecture = (Conv2d(3, 3), ReLU(), Residual((Conv2d(3, 1), LogisticBernoulli())), Linear(2))
    drop, norm = Dropout(0.3), AnalyticNorm()
    method = MomentPropagation(dropout=0.3, norm="ap2")
    assert method.network_of(architecture) == (
        *(Conv2d(3, 3, bias=False), norm, ReLU(), drop),
        Residual((Conv2d(3, 1, bias=False), norm, LogisticBernoulli(), drop)),
        *(Linear(2, bias=False), norm),
    )
    assert MomentPropagation(dropout=0.0).network_of(architecture) == architecture


@pytest.mark.parametrize(
    ("method", "layer", "cure"),
    [
        (MomentPropagation(), Dropout(0.1), "dropout=0"),
        (MomentPropagation(norm="ap2"), BatchNorm(), 'norm="none"'),
        (MomentPropagation(training="sample"), LogisticBernoulli(), 'training="ap2"'),
    ],
)
def test_what_does_not_go_together_is_refused_with_a_cure(method, layer, cure):
    problem = regression(architecture=(Linear(3), layer, Linear(1)))
    with pytest.raises(Unsupported, match=cure):
        method.fit(problem, stream(0))


def test_bernoulli_networks_train_by_their_means_alone_too():
    problem = classification(architecture=(Linear(9), LogisticBernoulli(), Linear(3)))
    method = replace(QUIET, training="ap1", prediction="ap1", epochs=80, learning_rate=0.02)
    posterior = method.fit(problem, stream(0))
    assert isinstance(posterior, NetworkPosterior)
    prediction = posterior.predict(problem.train.inputs, stream(0))
    assert float(prediction.log_prob(problem.train.targets).mean()) > -0.8  # guessing: -1.1


@pytest.mark.long
@pytest.mark.parametrize("input_variance", [0.0, 0.1])
@pytest.mark.parametrize("unit", [LogisticBernoulli(), Sigmoid(), LeakyReLU(0.01)], ids=repr)
@pytest.mark.parametrize("norm", [None, BatchNorm(), AnalyticNorm()], ids=repr)
@pytest.mark.parametrize("make", [classification, images])
def test_norms_units_and_input_noise_train_together(make, norm, unit, input_variance):
    """A norm behind each layer with weights: the first sees known units, the last random ones."""
    norms, bias = (() if norm is None else (norm,)), norm is None
    hidden = (Linear(12, bias=bias), *norms, unit)
    if make is images:
        hidden = (Conv2d(4, 3, bias=bias), *norms, unit, Flatten(), *hidden)
    problem = replace(make(), architecture=(*hidden, Linear(3, bias=bias), *norms))
    method = MomentPropagation(0.02, 40, dropout=0.0, input_variance=input_variance)
    posterior = method.fit(problem, stream(0))
    prediction = posterior.predict(problem.train.inputs, stream(1))
    assert isinstance(prediction, CategoricalPredictive)
    share = torch.bincount(problem.train.targets, minlength=3) / len(problem.train.targets)
    guessing = float((share * share.log()).sum())
    assert float(prediction.log_prob(problem.train.targets).mean()) > guessing + 0.2


def test_norms_of_known_units_move_their_statistics_as_torch_does():
    architecture = (Linear(5), BatchNorm(momentum=0.3), LeakyReLU(0.1), Linear(2), BatchNorm())
    inputs = torch.randn(1, 11, 4, generator=stream(0), dtype=torch.float64)
    network = TorchNetwork(architecture, (4,), moment_rules())
    weights = network.initial_weights([stream(1)]).double()
    buffers = network.initial_buffers(weights)
    y = network(weights, Moments(inputs), buffers=buffers, training=True)
    first, last = nn.BatchNorm1d(5, momentum=0.3), nn.BatchNorm1d(2)
    twin = nn.Sequential(nn.Linear(4, 5), first, nn.LeakyReLU(0.1), nn.Linear(5, 2), last).double()
    nn.utils.vector_to_parameters(weights[0], twin.parameters())
    torch.testing.assert_close(y.mean[0], twin(inputs[0]))
    running = [t for norm in (first, last) for t in (norm.running_mean, norm.running_var)]
    torch.testing.assert_close(buffers[0], torch.cat(running))


@pytest.mark.parametrize("initialisation", ["bn", "ap2"])
def test_initialisation_changes_the_start_and_rounds_no_member_otherwise(initialisation):
    method = replace(QUIET, initialisation=initialisation)
    problems = [regression(seed) for seed in range(3)]
    together = method.fit_many(problems, [stream(10 + seed) for seed in range(3)])
    alone = method.fit(problems[1], stream(11))
    assert torch.equal(together[1].at_mean.weights, alone.at_mean.weights)
    usual = QUIET.fit(problems[1], stream(11))
    assert not torch.allclose(usual.at_mean.weights, alone.at_mean.weights, atol=0.05)


@pytest.mark.parametrize("make", [regression, classification, images])
def test_an_absurd_learning_rate_is_reported_as_divergence(make):
    with pytest.raises(InferenceDiverged):
        MomentPropagation(learning_rate=1e30, epochs=3).fit(make(), stream(0))

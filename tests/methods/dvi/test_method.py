"""DVI, compared with sampled weights, finite differences and a conjugate model."""

import numpy as np
import pytest
import torch

from bnnbench.methods.base import Unsupported
from bnnbench.methods.dvi.likelihood import MeanAndLogVariance, expected_losses, expected_squares
from bnnbench.methods.dvi.method import Dvi
from bnnbench.methods.dvi.posterior import DviPosterior
from bnnbench.methods.dvi.propagation import propagation_rules
from bnnbench.methods.fitting.network_posterior import outputs
from bnnbench.methods.moments.base import Moments
from bnnbench.methods.networks.architectures import Dropout, Linear, ReLU
from bnnbench.methods.networks.torch_network import TorchNetwork
from tests.methods.problems import classification, exact_posterior, images, regression, stream

DRAWS = 200_000
ONE, TWO = (Linear(6), ReLU()), (Linear(6), ReLU(), Linear(6), ReLU())
STD = 0.3


def uncertain(layers, covariance="full"):
    """Return a network's propagation, its means and stds in float64, and three points."""
    architecture = (*layers, Linear(2))
    network = TorchNetwork(architecture, (4,), propagation_rules(covariance, 3))
    mean = 2 * network.initial_weights([stream(0)], dtype=torch.float64)
    inputs = torch.randn(3, 4, generator=stream(1), dtype=torch.float64)
    return network, mean, torch.full_like(mean, STD), inputs


def sampled(layers):
    """Return mean and covariance of both outputs at each point, over draws of the weights."""
    network, mean, std, inputs = uncertain(layers)
    plain = TorchNetwork(network.architecture, (4,))
    rng = stream(2)
    noise = torch.randn(DRAWS, mean.shape[1], generator=rng, dtype=torch.float64)
    found = outputs(plain, mean + std * noise, inputs, mean.new_zeros(DRAWS, 0)).movedim(0, 1)
    return found.mean(1), torch.stack([point.T.cov() for point in found])


def test_one_hidden_layer_has_the_mean_and_covariance_of_sampled_weights():
    network, mean, std, inputs = uncertain(ONE)
    y = network((mean, std), Moments(inputs[None]))
    expected, covariance = sampled(ONE)
    variance = covariance.diagonal(dim1=1, dim2=2)
    errors = (variance / DRAWS).sqrt()
    assert ((y.mean[0] - expected) / errors).abs().max() < 4.5
    both = MeanAndLogVariance.of(y)
    scale = variance.prod(1).sqrt()
    spreads = torch.cat([both.mean_variance, both.log_variance], -1)[0]
    torch.testing.assert_close(spreads, variance, rtol=0.02, atol=0)
    difference = (both.covariance[0, :, 0] - covariance[:, 0, 1]).abs() / scale
    assert difference.max() < 0.01
    assert (covariance[:, 0, 1].abs() / scale).max() > 0.1


@pytest.mark.long
def test_of_two_hidden_layers_covariances_are_worth_their_work():
    expected, covariance = sampled(TWO)
    variance = covariance.diagonal(dim1=1, dim2=2)
    errors = {}
    for kind in ("full", "diagonal"):
        network, mean, std, inputs = uncertain(TWO, kind)
        y = network((mean, std), Moments(inputs[None]))
        assert (y.mean[0] - expected).abs().max() < 0.03 * variance.sqrt().max()
        errors[kind] = float((y.variance[0] / variance).log().abs().max())
    assert errors["full"] < 0.05
    assert errors["full"] < errors["diagonal"] / 2


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_the_gradient_of_the_bound_agrees_with_finite_differences(covariance):
    network, mean, std, inputs = uncertain(TWO, covariance)
    targets = torch.randn(1, 3, 1, generator=stream(3), dtype=torch.float64)

    def loss(mean, log_std):
        y = network((mean, log_std.exp()), Moments(inputs[None]))
        both = MeanAndLogVariance.of(y).expected_losses(targets)
        squares = expected_squares(y, torch.cat([targets, targets], -1))
        return (both + expected_losses(squares, mean.new_tensor([0.5]))).sum()

    mean.requires_grad_()
    log_std = std.log().requires_grad_()
    assert torch.autograd.gradcheck(loss, (mean, log_std), rtol=1e-4)


def test_bayesian_linear_regression_ends_at_the_mean_field_optimum(linear):
    method = Dvi(learning_rate=0.05, epochs=400, batch_size=len(linear.train))
    posterior = method.fit(linear, stream(0))
    assert isinstance(posterior, DviPosterior)
    prior_std = posterior.diagnostics["prior_std_0"]
    mean, precision = exact_posterior(linear, 0.5, prior_std**-2)
    torch.testing.assert_close(posterior.mean, mean, rtol=0, atol=1e-4)
    torch.testing.assert_close(posterior.std, precision.diagonal().rsqrt(), rtol=1e-3, atol=0)
    prediction = posterior.predict(linear.train.inputs, stream(1))
    inputs = torch.cat([linear.train.inputs, torch.ones(len(linear.train), 1)], 1).double()
    torch.testing.assert_close(prediction.mean[:, 0], inputs @ mean, rtol=0, atol=1e-3)
    variance = 0.25 + inputs.square() @ (1 / precision.diagonal())
    torch.testing.assert_close(prediction.variance[:, 0], variance, rtol=1e-3, atol=0)


def test_a_noise_of_its_own_is_learned_where_the_data_have_one():
    noisy = regression(rows=200, architecture=(Linear(8), ReLU(), Linear(1)))
    noise = 0.1 + 0.6 * (noisy.train.inputs[:, :1] > 0)
    noisy.train.targets[:] = noise * torch.randn(200, 1, generator=stream(5))
    found = {}
    for heteroscedastic in (True, False):
        method = Dvi(
            learning_rate=0.05, heteroscedastic=heteroscedastic, covariance="diagonal", epochs=80
        )
        prediction = method.fit(noisy, stream(0)).predict(noisy.train.inputs, stream(1))
        stds = prediction.variance.sqrt()[:, 0]
        right = noisy.train.inputs[:, 0] > 0
        found[heteroscedastic] = float(stds[right].median() / stds[~right].median())
    assert 2 < found[True] < 10
    assert 0.7 < found[False] < 1.4


def test_predictive_variances_agree_with_weights_and_noise_drawn():
    problem = regression(rows=60, dtype=torch.float64)
    posterior = Dvi(epochs=40, initial_std=0.2).fit(problem, stream(0))
    assert isinstance(posterior, DviPosterior)
    prediction = posterior.predict(problem.train.inputs[:4], stream(1))
    rng = stream(2)
    noise = torch.randn(DRAWS, len(posterior.mean), generator=rng, dtype=torch.float64)
    weights = posterior.mean + posterior.std * noise
    empty = weights.new_zeros(DRAWS, 0)
    drawn = outputs(posterior.network, weights, problem.train.inputs[:4], empty)
    mean, log_variance = drawn.chunk(2, -1)
    variance = log_variance.exp().mean(0) + mean.var(0)
    torch.testing.assert_close(prediction.variance, variance, rtol=0.03, atol=0)


@pytest.mark.parametrize(
    "problem",
    [classification(), images(real=True), regression(architecture=(Dropout(0.1), Linear(1)))],
    ids=["classes", "images", "dropout"],
)
def test_what_it_does_not_cover_is_refused(problem):
    with pytest.raises(Unsupported, match="for DVI; got"):
        Dvi(epochs=1).fit(problem, stream(0))


def test_known_noise_is_kept():
    problem = regression(noise_std=0.25)
    posterior = Dvi(epochs=2).fit(problem, stream(0))
    assert posterior.diagnostics["noise_std"] == pytest.approx(0.25)
    assert np.isfinite(posterior.diagnostics["kl_per_row"])

"""Variational structured dropout, compared with drawn weights and a closed-form bound."""

import math

import pytest
import torch
from torch.distributions import MultivariateNormal, kl_divergence

from bnnbench.methods.base import Unsupported
from bnnbench.methods.networks.architectures import Conv2d, Linear, ReLU, Residual
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.methods.vsd.method import Vsd, VsdPosterior
from bnnbench.methods.vsd.network import StructuredNetwork, drawn_weights
from bnnbench.methods.vsd.noise import initial_numbers, noises_of
from tests.methods.problems import images, regression, stream, streams

DRAWS = 100_000
SHARINGS = ["outputs", "none"]


@pytest.mark.parametrize("sharing", SHARINGS)
@pytest.mark.parametrize("layers", [(Linear(3),), (Linear(4), ReLU(), Linear(2))])
def test_a_pass_in_training_has_the_moments_of_drawn_weights(sharing, layers):
    network = StructuredNetwork(layers, (4,), 2, sharing)
    numbers = initial_numbers(network.widths, 2, -1.5, streams(0), torch.float64)
    weights = network.initial_weights(streams(1), dtype=torch.float64)
    x = torch.tensor([0.5, -2.0, 0.1, 1.5], dtype=torch.float64)
    passed = network(
        (weights, numbers), x.expand(1, DRAWS, 4), noise="per_example", rngs=streams(2)
    )[0]
    noises = noises_of(numbers, network.widths, 2)
    drawn = drawn_weights(weights, network.dense, noises, sharing, DRAWS, stream(3))
    expected = TorchNetwork(layers, (4,))(drawn, x[None, None])[:, 0]
    error = (expected.var(0) / DRAWS).sqrt()
    assert ((passed.mean(0) - expected.mean(0)) / error).abs().max() < 4.5 * 2**0.5
    assert (passed.var(0) / expected.var(0) - 1).abs().max() < 0.04
    correlations = [torch.corrcoef(y.T)[0, 1] for y in (passed, expected)]
    assert abs(correlations[0] - correlations[1]) < 0.02
    if len(layers) == 1:
        assert (abs(correlations[1]) > 0.1) == (sharing == "outputs")


def bound(problem, weights, noise):
    """Return minus the evidence bound per row of a linear model, from explicit matrices."""
    theta, bias = weights[:4], weights[4]
    identity = torch.eye(4, dtype=torch.float64)
    u = identity
    for vectors in noise.vectors:
        v = vectors[0]
        u = u @ (identity - 2 * torch.outer(v, v) / (v @ v))
    covariance = u @ noise.log_alpha[0].exp().diag() @ u.T
    mean = u.sum(1)
    x, y = problem.train.inputs, problem.train.targets[:, 0]
    spread = theta.diag() @ covariance @ theta.diag()
    squares = (y - x @ (theta * mean) - bias).square() + ((x @ spread) * x).sum(1)
    variance = problem.likelihood.noise_std**2
    loss = 0.5 * (squares.mean() / variance + math.log(2 * math.pi * variance))
    prior = MultivariateNormal(0 * mean, (mean.square() + covariance.diagonal()).diag())
    return loss + kl_divergence(MultivariateNormal(mean, covariance), prior) / len(x)


@pytest.mark.parametrize("sharing", SHARINGS)
def test_linear_regression_ends_at_an_optimum_of_the_bound(linear, sharing):
    method = Vsd(learning_rate=0.05, sharing=sharing, epochs=150, batch_size=60)
    posterior = method.fit(linear, stream(0))
    assert isinstance(posterior, VsdPosterior)
    (noise,) = posterior.noises
    weights = posterior.trained.weights[0].clone().requires_grad_()
    moved = [
        weights,
        noise.log_alpha.requires_grad_(),
        *(v.requires_grad_() for v in noise.vectors),
    ]
    reached = float(bound(linear, weights, noise).detach())
    optimiser = torch.optim.LBFGS(moved, max_iter=30, line_search_fn="strong_wolfe")

    def closure():
        optimiser.zero_grad()
        loss = bound(linear, weights, noise)
        loss.backward()
        return loss

    optimiser.step(closure)
    best = float(bound(linear, weights, noise).detach())
    assert best <= reached < best + 0.01


@pytest.mark.parametrize("sharing", SHARINGS)
def test_predictions_agree_with_the_posteriors_weights(linear, sharing):
    posterior = Vsd(epochs=60, sharing=sharing, draws=20_000).fit(linear, stream(0))
    assert isinstance(posterior, VsdPosterior)
    (noise,) = posterior.noises
    theta, bias = posterior.trained.weights[0, :4], posterior.trained.weights[0, 4]
    inputs = linear.train.inputs[:5]
    prediction = posterior.predict(inputs, stream(1))
    mean = inputs @ (theta * noise.mean()[0]) + bias
    terms = noise.rotated_back((inputs * theta)[None])[0]
    variance = terms.square() @ noise.log_alpha[0].exp()
    torch.testing.assert_close(prediction.variance[:, 0], variance + 0.25, rtol=0.05, atol=0)
    error = (variance / 20_000).sqrt()
    assert ((prediction.mean[:, 0] - mean) / error).abs().max() < 4.5


def test_factors_of_every_output_count_for_themselves():
    problem = regression()
    shared, own = (
        Vsd(epochs=1, sharing=sharing, learning_rate=1e-12).fit(problem, stream(0))
        for sharing in SHARINGS
    )
    assert isinstance(shared, VsdPosterior)
    first, second = (float(noise.kl()) for noise in shared.noises)
    rows = len(problem.train)
    assert shared.diagnostics["kl_per_row"] == pytest.approx((first + second) / rows, rel=1e-5)
    assert own.diagnostics["kl_per_row"] == pytest.approx((7 * first + second) / rows, rel=1e-5)


def test_convolutions_keep_their_weights():
    posterior = Vsd(epochs=1).fit(images(), stream(0))
    assert isinstance(posterior, VsdPosterior)
    (part,) = (
        part
        for part in posterior.trained.network.parameters
        if isinstance(part.layer, Conv2d) and part.name == "weight"
    )
    drawn = torch.cat(list(posterior._draws(stream(1))))[:, part.offset : part.stop]
    assert torch.equal(drawn, drawn[:1].expand(len(drawn), -1))


@pytest.mark.parametrize(
    ("architecture", "cause"),
    [((ReLU(),), "dense layer"), ((Residual((Linear(4),), ()), Linear(1)), "without Residual")],
)
def test_networks_that_it_does_not_cover_are_refused(architecture, cause):
    with pytest.raises(Unsupported, match=cause):
        StructuredNetwork(architecture, (4,), 2, "outputs")

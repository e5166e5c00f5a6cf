"""Mean-field VI, compared with closed forms and sampled weights."""

import pytest
import torch
from torch.distributions import Normal, kl_divergence

from bnnbench.methods.mfvi import SAMPLING_RULES, Mfvi, kl_to_prior
from bnnbench.methods.networks.architectures import BatchNorm, Conv2d, Linear
from bnnbench.methods.networks.passes import Pass
from tests.methods.problems import exact_posterior, regression, stream, streams


@pytest.mark.parametrize("prior_std", [0.1, 1.0, 3.0])
def test_the_kl_agrees_with_independent_gaussians(prior_std):
    rng = stream(0)
    mean = torch.randn(2, 9, generator=rng, dtype=torch.float64)
    std = torch.rand(2, 9, generator=rng, dtype=torch.float64) + 0.01
    prior = Normal(torch.zeros_like(mean), prior_std)
    expected = kl_divergence(Normal(mean, std), prior).sum(1)
    torch.testing.assert_close(kl_to_prior(mean, std, prior_std), expected, rtol=1e-12, atol=0)


DRAWS = 100_000


def layer_draws(layer, mean, std, x):
    """Return many outputs of one input, each by local reparametrisation."""
    run = Pass(training=True, noise="per_example", rngs=streams(3))
    repeated = x.expand(1, DRAWS, *x.shape)
    stacks = [{k: v[None] for k, v in mean.items()}, {k: v[None] for k, v in std.items()}]
    return SAMPLING_RULES[type(layer)](layer, stacks, repeated, run)[0].flatten(1)


def weight_draws(mean, std):
    rng = stream(4)
    return {
        name: mean[name] + std[name] * torch.randn(DRAWS, *mean[name].shape, generator=rng)
        for name in mean
    }


def weights(*shape):
    rng = stream(5)
    mean = {"weight": torch.randn(shape, generator=rng), "bias": torch.randn(shape[:1])}
    std = {name: torch.rand(value.shape, generator=rng) + 0.1 for name, value in mean.items()}
    return {name: value.clone().normal_(generator=rng) for name, value in mean.items()}, std


def assert_equal_moments(local, sampled):
    """Compare means and variances within five standard errors."""
    error = (sampled.var(0) / DRAWS).sqrt()
    assert ((local.mean(0) - sampled.mean(0)) / error).abs().max() < 5 * 2**0.5
    relative = local.var(0) / sampled.var(0) - 1
    assert relative.abs().max() < 5 * (4 / DRAWS) ** 0.5


def test_outputs_of_a_linear_layer_have_the_moments_of_sampled_weights():
    mean, std = weights(3, 4)
    x = torch.tensor([0.5, -2.0, 0.0, 1.5])
    drawn = weight_draws(mean, std)
    assert_equal_moments(layer_draws(Linear(3), mean, std, x), drawn["weight"] @ x + drawn["bias"])


def test_outputs_of_a_convolution_have_the_moments_of_sampled_weights_at_every_position():
    mean, std = weights(2, 1, 2, 2)
    x = torch.tensor([[[0.5, -2.0, 1.0], [1.5, 0.3, -0.7]]])
    drawn = weight_draws(mean, std)
    patches = torch.stack([x[0, :, :2], x[0, :, 1:]])
    sampled = torch.einsum("doij,pij->dop", drawn["weight"][:, :, 0], patches)
    sampled = (sampled + drawn["bias"][:, :, None]).flatten(1)
    assert_equal_moments(layer_draws(Conv2d(2, kernel=2), mean, std, x), sampled)


def test_outputs_of_equal_examples_are_drawn_apart_and_those_of_a_norm_together():
    mean, std = weights(3, 4)
    outputs = layer_draws(Linear(3), mean, std, torch.ones(4))
    assert len(outputs.unique(dim=0)) == DRAWS
    run = Pass(training=False, noise="per_example", rngs=streams(3))
    own = {"weight": torch.ones(1, 3), "bias": torch.zeros(1, 3)}
    statistics = {"running_mean": torch.zeros(1, 3), "running_variance": torch.ones(1, 3)}
    outputs = SAMPLING_RULES[BatchNorm](
        BatchNorm(), [own | statistics, own], torch.ones(1, 5, 3), run
    )
    assert len(outputs[0].unique(dim=0)) == 1


def test_bayesian_linear_regression_ends_at_the_mean_field_optimum(linear):
    prior_std = 0.7
    method = Mfvi(
        learning_rate=0.03,
        prior_std=prior_std,
        initial_std=0.05,
        epochs=1200,
        batch_size=-(-len(linear.train) // 2),
    )
    posterior = method.fit(linear, stream(0))
    mean, precision = exact_posterior(linear, 0.5, prior_std**-2)
    std = precision.diagonal().rsqrt()
    assert ((posterior.at_mean.weights[0] - mean) / std).abs().max() < 0.15
    torch.testing.assert_close(posterior.std, std, rtol=0.05, atol=0)
    kl = kl_divergence(Normal(mean, std), Normal(torch.zeros_like(mean), prior_std)).sum()
    assert posterior.diagnostics["kl_per_row"] == pytest.approx(
        float(kl) / len(linear.train), rel=0.03
    )


def test_without_a_prior_term_the_posterior_shrinks_towards_a_point():
    problem = regression()
    usual, cold = (
        Mfvi(learning_rate=0.05, kl_weight=weight, epochs=60, initial_std=0.1)
        for weight in (1.0, 0.0)
    )
    stds = [float(method.fit(problem, stream(0)).std.mean()) for method in (usual, cold)]
    assert stds[1] < stds[0] / 2

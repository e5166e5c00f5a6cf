"""Layers and networks of moments, by 40-digit quadrature, samples and plain numbers."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from bnnbench.methods.base import Unsupported
from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.rules import Formulas, moment_rules, with_variance
from bnnbench.methods.moments.units.softmax import log_probabilities
from bnnbench.methods.networks.architectures import (
    AnalyticNorm,
    AvgPool2d,
    BatchNorm,
    Conv2d,
    Dropout,
    FeatureResponseNorm,
    Flatten,
    GaussianNoise,
    GlobalAvgPool2d,
    LeakyReLU,
    Linear,
    LogisticBernoulli,
    MaxPool2d,
    ReLU,
    Residual,
    Sigmoid,
    Swish,
    Tanh,
)
from bnnbench.methods.networks.torch_network import TorchNetwork
from tests.methods.problems import stream, streams

DOUBLE = torch.float64
LEAKY = LeakyReLU(0.01)


def normals(*shape, seed=0):
    return torch.randn(*shape, generator=stream(seed), dtype=DOUBLE)


def moments(*shape, seed=0):
    """Return moments of every scale, for one member."""
    mean = normals(1, *shape, seed=seed)
    return Moments(mean, normals(1, *shape, seed=seed + 1).exp())


def propagated(architecture, x, weights=None, rules=None, **options):
    network = TorchNetwork(architecture, tuple(x.shape[2:]), rules or moment_rules())
    given = weights_of(network) if weights is None else weights
    return network(given, x, **{"buffers": buffers_of(network, given)} | options)


def weights_of(network):
    start = network.initial_weights(streams(1), dtype=DOUBLE)
    return start + 0.3 * normals(*start.shape, seed=9)


def buffers_of(network, weights):
    buffers = network.initial_buffers(weights)
    return buffers + 0.3 * normals(*buffers.shape, seed=8).abs()


def assert_equal(one, other, **tolerance):
    torch.testing.assert_close(one.mean, other.mean, **tolerance)
    torch.testing.assert_close(one.variance, other.variance, **tolerance)


def waves(function, rows, columns, start, row):
    i, j = torch.arange(rows, dtype=DOUBLE)[:, None], torch.arange(columns, dtype=DOUBLE)
    return function(start + row * i + j)


# mean, variance, simplified and logistic class probabilities, by quadrature of each unit
VECTORS = {
    "leaky": (
        (LEAKY,),
        "exact",
        (-0.272417298, 0.129958449, 0.133253001),
        (0.052233107, 0.049066458, 0.061208858),
        (0.250876383, 0.373994273, 0.375129344),
        (0.251480065, 0.373686910, 0.374833025),
    ),
    "leaky as in the paper": (
        (LEAKY,),
        "paper",
        (-0.272417298, 0.129958449, 0.133253001),
        (0.074387324, 0.068850966, 0.083838350),
        (0.251121432, 0.373883738, 0.374994830),
        (0.251953496, 0.373461452, 0.374585052),
    ),
    "relu": (
        (ReLU(),),
        "exact",
        (-0.273729889, 0.130857416, 0.133390382),
        (0.051904014, 0.048571789, 0.060747793),
        (0.250530971, 0.374308506, 0.375160523),
        (0.251132178, 0.374000999, 0.374866822),
    ),
    "bernoulli": (
        (LogisticBernoulli(),),
        "exact",
        (-0.477884687, 0.250200839, 0.181529046),
        (0.102698772, 0.145599175, 0.138195044),
        (0.201709947, 0.412513201, 0.385776852),
        (0.203756137, 0.411219414, 0.385024449),
    ),
    "transform": (
        (Sigmoid(),),
        "exact",
        (-0.477884687, 0.250200839, 0.181529046),
        (0.006446990, 0.009292666, 0.009058031),
        (0.199932572, 0.413743212, 0.386324216),
        (0.200072544, 0.413653497, 0.386273959),
    ),
    "leaky and dropout": (
        (LEAKY, Dropout(0.2)),
        "exact",
        (-0.272417298, 0.129958449, 0.133253001),
        (0.075327107, 0.066920674, 0.087798825),
        (0.251132301, 0.373899681, 0.374968017),
        (0.251974687, 0.373466940, 0.374558372),
    ),
}


@pytest.mark.parametrize("name", VECTORS)
def test_a_whole_network_has_the_moments_found_by_quadrature(name):
    hidden, variance, mean, spread, simplified, logistic = VECTORS[name]
    weights = torch.cat(
        [
            waves(torch.sin, 4, 3, 1.0, 3.0).flatten(),
            0.1 * torch.arange(4, dtype=DOUBLE),
            waves(torch.cos, 3, 4, 2.0, 4.0).flatten() / 2,
            torch.tensor([0.0, 0.1, -0.1], dtype=DOUBLE),
        ]
    )
    x = Moments(
        torch.tensor([[[0.5, -1.0, 2.0]]], dtype=DOUBLE),
        torch.tensor([[[0.1, 0.2, 0.3]]], dtype=DOUBLE),
    )
    architecture = (Linear(4), *hidden, Linear(3))
    y = propagated(
        architecture, x, weights[None], moment_rules(Formulas(variance, sigmoid="paper"))
    )
    results = (
        y.mean,
        y.variance,
        log_probabilities(y, "simplified").exp(),
        log_probabilities(y, "logistic").exp(),
    )
    for found, expected in zip(results, (mean, spread, simplified, logistic), strict=True):
        target = torch.tensor(expected, dtype=DOUBLE)
        torch.testing.assert_close(found[0, 0], target, rtol=0, atol=1e-9)


IMAGE = (2, 6, 6)
EXACT = {
    "dense": ((Linear(5),), (4,)),
    "dense without bias": ((Linear(5, bias=False),), (4,)),
    "convolution": ((Conv2d(3, 3, stride=2, padding=1),), IMAGE),
    "uneven padding": ((Conv2d(3, 3, 2, (0, 1)),), IMAGE),
    "relu": ((ReLU(),), (9,)),
    "leaky": ((LeakyReLU(0.2),), (9,)),
    "swish": ((Swish(),), (9,)),
    "tanh": ((Tanh(),), (9,)),
    "sigmoid": ((Sigmoid(),), (9,)),
    "dropout": ((Dropout(0.3),), (9,)),
    "noise": ((GaussianNoise(0.7),), (9,)),
    "average": ((AvgPool2d(2),), (2, 5, 5)),
    "global average": ((GlobalAvgPool2d(),), IMAGE),
    "flat": ((Flatten(),), (2, 2, 2)),
    "batch norm": ((BatchNorm(),), IMAGE),
    "analytic norm": ((AnalyticNorm(),), IMAGE),
    "dropout of a linear network": ((Dropout(0.4), Linear(5), GaussianNoise(0.1)), (4,)),
    "a linear chain": ((Dropout(0.4), Conv2d(2, 6), Dropout(0.5), Flatten(), Linear(1)), IMAGE),
}
DRAWS = 20_000


def sampled(architecture, x):
    """Return the results for draws of independent normal units, including drawn noise."""
    network = TorchNetwork(architecture, tuple(x.shape[2:]))
    weights = weights_of(network)
    draws = x.mean[0] + x.variance[0].sqrt() * normals(DRAWS, *x.shape[2:], seed=5)
    buffers = buffers_of(network, weights)
    return network(weights, draws[None], buffers=buffers, noise="per_example", rngs=streams(4))[0]


def z_scores(y, draws):
    """Return the distance of mean and variance from the draws', in standard errors."""
    mean, variance = draws.mean(0), draws.var(0)
    fourth = (draws - mean).pow(4).mean(0)
    return (
        (y.mean[0, 0] - mean) / (variance / DRAWS).sqrt(),
        (y.variance[0, 0] - variance) / ((fourth - variance**2) / DRAWS).sqrt(),
    )


@pytest.mark.parametrize("name", EXACT)
def test_layers_of_exact_moments_agree_with_samples(name):
    architecture, shape = EXACT[name]
    x = moments(1, *shape)
    for scores in z_scores(propagated(architecture, x), sampled(architecture, x)):
        assert scores.abs().max() < 4.5


@pytest.mark.parametrize(
    ("layer", "shape", "mean_error", "variance_error"),
    [
        # The mean of a bit is wrong by at most 0.0223, the deviation of the paper's sigmoid by 13 %
        # at mean 0 and by more elsewhere, the variance of the largest of four by 5.5 %.
        (LogisticBernoulli(), (40,), 0.023, 0.15),
        (Sigmoid(), (40,), 0.023, 0.35),
        (MaxPool2d(2), (10, 4, 4), 0.05, 0.1),
    ],
)
def test_layers_of_approximate_moments_lie_near_samples(layer, shape, mean_error, variance_error):
    x = moments(1, *shape)
    x = replace(x, variance=x.variance**0.3)
    rules = moment_rules(Formulas(sigmoid="paper"))
    y, draws = propagated((layer,), x, rules=rules), sampled((layer,), x)
    assert (y.mean[0, 0] - draws.mean(0)).abs().max() < mean_error + 5 / DRAWS**0.5
    assert (y.variance[0, 0] / draws.var(0) - 1).abs().max() < variance_error + 5 * (
        2 / DRAWS
    ) ** 0.5


def test_mirrored_borders_count_as_units_of_their_own():
    layer = Conv2d(3, 3, padding=1, padding_mode="symmetric")
    x = moments(1, *IMAGE)
    mean_scores, variance_scores = z_scores(propagated((layer,), x), sampled((layer,), x))
    assert mean_scores.abs().max() < 4.5
    assert variance_scores[:, 1:-1, 1:-1].abs().max() < 4.5
    assert variance_scores[:, 0].abs().max() > 20


DETERMINISTIC = {
    "perceptron": ((Linear(7), ReLU(), Linear(5), Tanh(), Linear(2), Swish()), (3,)),
    "sigmoid": ((Linear(7), BatchNorm(), Sigmoid(), Linear(2)), (3,)),
    "images": (
        (
            *(Conv2d(3, 3, bias=False), BatchNorm(), LEAKY, MaxPool2d(2)),
            Residual((Conv2d(3, 1), ReLU()), ()),
            *(AvgPool2d(2), Flatten(), Linear(4)),
        ),
        (2, 10, 10),
    ),
    "global": ((Conv2d(3, 3, 1, 1), AnalyticNorm(), LEAKY, GlobalAvgPool2d()), (2, 6, 6)),
}


@pytest.mark.parametrize("name", DETERMINISTIC)
@pytest.mark.parametrize("training", [False, True])
def test_what_is_known_exactly_stays_so_and_costs_no_variance(name, training):
    architecture, shape = DETERMINISTIC[name]
    plain = TorchNetwork(architecture, shape)
    weights, inputs = weights_of(plain), normals(1, 6, *shape, seed=1)
    buffers = buffers_of(plain, weights)
    expected = plain(weights, inputs, buffers=buffers.clone(), training=training)
    known = propagated(
        architecture, Moments(inputs), weights, buffers=buffers.clone(), training=training
    )
    assert known.variance is None
    torch.testing.assert_close(known.mean, expected, rtol=1e-12, atol=1e-13)
    zero = Moments(inputs, torch.zeros_like(inputs))
    still = propagated(architecture, zero, weights, buffers=buffers.clone(), training=training)
    torch.testing.assert_close(still.mean, expected, rtol=1e-12, atol=1e-13)
    assert not still.variance.any()


@pytest.mark.parametrize("noise", ["off", "per_example"])
def test_dropout_is_part_of_the_moments_whatever_is_drawn_elsewhere(noise):
    x = moments(3, 4)
    expected = (x.variance + 0.2 * x.mean**2) / 0.8
    y = propagated((Dropout(0.2),), x, noise=noise)
    assert_equal(y, Moments(x.mean, expected))
    known = propagated((Dropout(0.2),), Moments(x.mean))
    torch.testing.assert_close(known.variance, 0.25 * x.mean**2)


@pytest.mark.parametrize("known", [False, True])
def test_dropout_has_the_gradient_that_finite_differences_find(known):
    x = moments(2, 3)

    def variance(mean, spread):
        given = Moments(mean) if known else Moments(mean, spread)
        return propagated((Dropout(0.3),), given, torch.empty(1, 0)).variance

    torch.autograd.gradcheck(variance, (x.mean.requires_grad_(), x.variance.requires_grad_()))


@pytest.mark.parametrize("architecture", [(Linear(5),), (Conv2d(3, 3), Flatten(), Linear(2))])
def test_a_variance_that_all_points_share_gives_what_repeated_ones_give(architecture):
    shape = (4,) if len(architecture) == 1 else IMAGE
    mean = normals(2, 5, *shape)
    shared = with_variance(mean, 0.3)
    repeated = replace(shared, variance=shared.variance.clone())
    network = TorchNetwork(architecture, shape, moment_rules())
    weights = normals(2, network.parameter_count, seed=3).requires_grad_()
    results = [network(weights, x) for x in (shared, repeated)]
    assert_equal(*results)
    gradients = [torch.autograd.grad(y.variance.square().sum(), weights)[0] for y in results]
    torch.testing.assert_close(*gradients)


class TestBatchNormInTraining:
    x = moments(7, *IMAGE)
    network = TorchNetwork((BatchNorm(),), IMAGE, moment_rules())
    weights = weights_of(network)

    def test_a_channel_has_the_total_variance_that_the_scale_says(self):
        y = self.network(self.weights, self.x, training=True)
        scale, offset = self.weights[0].split(2)
        means, variances = (t[0].transpose(0, 1).flatten(1) for t in (y.mean, y.variance))
        torch.testing.assert_close(means.mean(1), offset)
        total = variances.mean(1) + means.var(1, correction=0)
        torch.testing.assert_close(total, scale**2, rtol=1e-4, atol=0)  # epsilon

    def test_its_statistics_agree_with_samples(self):
        copies = 4000
        draws = self.x.mean + self.x.variance.sqrt() * normals(copies, 7, *IMAGE, seed=3)
        mean, variance = torch.zeros(2, dtype=DOUBLE), torch.ones(2, dtype=DOUBLE)
        F.batch_norm(draws.flatten(0, 1), mean, variance, training=True, momentum=1.0)
        buffers = self.network.initial_buffers(self.weights)
        self.network(self.weights, self.x, buffers=buffers, training=True, momentum=1.0)
        torch.testing.assert_close(buffers[0, :2], mean, rtol=0, atol=5e-3)
        # Ours is unbiased for 7 x 36 units, not for all their copies.
        torch.testing.assert_close(buffers[0, 2:], variance, rtol=0.01, atol=0)

    def test_evaluation_needs_statistics(self):
        with pytest.raises(ValueError, match="BatchNorm uses running"):
            self.network(self.weights, self.x)


def test_branches_are_added_as_if_they_were_independent():
    x = moments(2, 3)
    y = propagated((Residual((Dropout(0.5),)),), x)
    dropped = propagated((Dropout(0.5),), x)
    assert_equal(y, Moments(x.mean + dropped.mean, x.variance + dropped.variance))


def test_a_layer_without_moments_is_refused_with_a_cure():
    with pytest.raises(Unsupported, match=r"BatchNorm or AnalyticNorm; got FeatureResponseNorm"):
        propagated((FeatureResponseNorm(),), moments(1, *IMAGE))

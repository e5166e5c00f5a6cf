"""Networks of correlated units, compared with dense matrices, samples and each other."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bnnbench.methods.base import Unsupported
from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.covariances.correlated import CorrelatedMoments
from bnnbench.methods.moments.covariances.covariance import Covariances, covariance_rules
from bnnbench.methods.moments.covariances.directions import MOST_KEPT, DirectionCache, LinearMap
from bnnbench.methods.moments.rules import moment_rules
from bnnbench.methods.moments.units.softmax import log_probabilities
from bnnbench.methods.networks.architectures import (
    AvgPool2d,
    BatchNorm,
    Conv2d,
    Dropout,
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
    Tanh,
)
from bnnbench.methods.networks.torch_network import TorchNetwork
from tests.methods.problems import stream

DOUBLE = torch.float64
LEAKY = LeakyReLU(0.1)
ALL = Covariances()
FORMS = [ALL, Covariances(rank=100)]
LINEAR = (Conv2d(3, 3, stride=2, padding=1), AvgPool2d(2), Conv2d(4, 2), Flatten(), Linear(3))
MLP = (Linear(20), ReLU(), Linear(20), ReLU(), Linear(20), ReLU(), Linear(4))
CONVOLUTIONS = (
    Conv2d(4, 3),
    LEAKY,
    Conv2d(6, 3, 2),
    LEAKY,
    Conv2d(5, 2),
    LEAKY,
    Flatten(),
    Linear(3),
)


def normals(*shape, seed=0):
    return torch.randn(*shape, generator=stream(seed), dtype=DOUBLE)


def inputs_of(shape, points=2, seed=0, scale=1.0):
    mean = normals(1, points, *shape, seed=seed)
    return Moments(mean, scale * normals(1, points, *shape, seed=seed + 1).exp())


def weights_of(architecture, shape, seed=3):
    """Return weights with a mean above 0, behind which units are correlated."""
    start = TorchNetwork(architecture, shape).initial_weights([stream(seed)], dtype=DOUBLE)
    return start + start.abs()


def propagated(architecture, x, covariances=ALL, weights=None, **options):
    shape = tuple(x.shape[2:])
    network = TorchNetwork(architecture, shape, covariance_rules(covariances))
    return network(weights_of(architecture, shape) if weights is None else weights, x, **options)


def sampled(architecture, x, count=40_000):
    """Return means and covariances of samples of every point's outputs."""
    shape = tuple(x.shape[2:])
    network, rng = TorchNetwork(architecture, shape), stream(11)
    found = []
    for mean, variance in zip(x.mean[0], x.variance[0], strict=True):
        noise = torch.randn(1, count, *shape, generator=rng, dtype=DOUBLE)
        draws = network(
            weights_of(architecture, shape),
            mean + variance.sqrt() * noise,
            noise="per_example",
            rngs=[rng],
        )[0].flatten(1)
        found.append((draws.mean(0), torch.cov(draws.T)))
    return [torch.stack(parts) for parts in zip(*found, strict=True)]


def ratio(found, truth):
    """Return the geometric mean of the ratio of standard deviations."""
    return float((found.flatten(1).log() - truth.log()).mean().div(2).exp())


@pytest.mark.parametrize("covariances", FORMS, ids=["all", "rank"])
def test_linear_networks_are_exact(covariances):
    x = inputs_of((2, 9, 9))
    network = TorchNetwork(LINEAR, (2, 9, 9))
    weights = weights_of(LINEAR, (2, 9, 9))
    units = torch.eye(162, dtype=DOUBLE).view(1, 162, 2, 9, 9)
    matrix = (network(weights, units) - network(weights, 0 * units))[0].T
    expected = torch.stack([matrix @ v.flatten().diag() @ matrix.T for v in x.variance[0]])
    found = propagated(LINEAR, x, covariances, weights)
    torch.testing.assert_close(found.covariance[0], expected)
    torch.testing.assert_close(found.mean, network(weights, x.mean))
    torch.testing.assert_close(found.variance[0], expected.diagonal(dim1=-2, dim2=-1))


@pytest.mark.parametrize("rank", [1, 3, 8])
def test_variances_behind_one_linear_layer_are_exact_at_any_rank(rank):
    x = inputs_of((1, 8, 8))
    architecture = (Conv2d(3, 3), LEAKY, Conv2d(5, 3, 2))
    first, second = (
        propagated(architecture[:1], x, covariances, weights_of(architecture, (1, 8, 8))[:, :30])
        for covariances in (Covariances(rank=rank), Covariances())
    )
    torch.testing.assert_close(first.variance, second.variance)


def test_what_a_rank_leaves_out_is_positive_and_shrinks_with_the_rank():
    x = inputs_of((1, 8, 8))
    weights = weights_of((Conv2d(3, 3),), (1, 8, 8))
    whole = propagated((Conv2d(3, 3),), x, weights=weights).covariance[0]
    errors = []
    for rank in (2, 8, 32, 64):
        found = propagated((Conv2d(3, 3),), x, Covariances(rank=rank), weights)
        columns = found.factor[0].flatten(2)
        left = torch.linalg.eigvalsh(whole - columns.mT @ columns)
        assert left.min() > -1e-9 * whole.max()
        errors.append(left.sum())
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-9 * whole.max()


@pytest.mark.parametrize(
    "architecture",
    [
        CONVOLUTIONS,
        (
            Conv2d(3, 3),
            Sigmoid(),
            MaxPool2d(2),
            GaussianNoise(0.1),
            Conv2d(2, 2),
            Tanh(),
            Flatten(),
        ),
        (
            Conv2d(3, 3),
            LogisticBernoulli(),
            Dropout(0.3),
            Conv2d(2, 3),
            GlobalAvgPool2d(),
            Linear(4),
        ),
    ],
    ids=["leaky", "smooth", "noisy"],
)
def test_full_rank_is_all_covariances(architecture):
    x = inputs_of((1, 8, 8))
    found = propagated(architecture, x, Covariances(rank=200))
    expected = propagated(architecture, x)
    torch.testing.assert_close(found.covariance, expected.covariance)
    torch.testing.assert_close(found.mean, expected.mean)


@pytest.mark.parametrize(
    ("architecture", "shape", "options"),
    [
        (MLP, (12,), {ALL: 0.15, Covariances(order=3): 0.1, Covariances(rank=16): 0.15}),
        (
            CONVOLUTIONS,
            (1, 9, 9),
            {ALL: 0.05, Covariances(order=3): 0.02, Covariances(rank=40): 0.05},
        ),
        (
            (*MLP[:2], Dropout(0.2), Linear(20), LogisticBernoulli(), Linear(20), Linear(4)),
            (12,),
            {ALL: 0.05, Covariances(rank=20): 0.05},
        ),
    ],
    ids=["dense", "convolutions", "noisy"],
)
def test_deviations_are_nearer_to_samples_than_those_of_independent_units(
    architecture, shape, options
):
    x = inputs_of(shape, scale=0.3)
    mean, covariance = sampled(architecture, x)
    truth = covariance.diagonal(dim1=-2, dim2=-1)
    weights = weights_of(architecture, shape)
    alone = TorchNetwork(architecture, shape, moment_rules())(weights, x)
    independent = abs(ratio(alone.variance[0], truth) - 1)
    for option, limit in options.items():
        found = propagated(architecture, x, option)
        assert abs(ratio(found.variance[0], truth) - 1) < min(limit, independent / 4)
        off = ~torch.eye(truth.shape[-1], dtype=torch.bool)
        error = (found.covariance[0] - covariance)[:, off].abs().mean()
        assert error < 0.25 * covariance[:, off].abs().mean()
        # units of one sign are skewed together, which no covariance expresses
        assert (found.mean[0] - mean).abs().mean() < 0.06 * truth.sqrt().mean()


def test_batch_norm_is_affine():
    architecture = (Linear(4), BatchNorm())
    x, weights = inputs_of((5,)), weights_of(architecture, (5,))
    weights[:, -8:] = normals(1, 8, seed=5)
    buffers = normals(1, 8, seed=6).exp()
    network = TorchNetwork(architecture, (5,))
    units = torch.eye(5, dtype=DOUBLE)[None]
    matrix = network(weights, units, buffers=buffers) - network(weights, 0 * units, buffers=buffers)
    expected = torch.stack([matrix[0].T @ v.diag() @ matrix[0] for v in x.variance[0]])
    for covariances in FORMS:
        found = propagated(architecture, x, covariances, weights, buffers=buffers)
        torch.testing.assert_close(found.covariance[0], expected)
    with pytest.raises(Unsupported, match="evaluation"):
        propagated(architecture, x, weights=weights, buffers=buffers, training=True)


@pytest.mark.parametrize("covariances", FORMS, ids=["all", "rank"])
def test_gaussian_weights_of_dense_layers_add_variance_of_their_own(covariances):
    x, shape = inputs_of((5,), points=1, scale=0.5), (5,)
    network = TorchNetwork((Linear(4), Linear(3)), shape)
    weights = weights_of((Linear(4), Linear(3)), shape)
    std = torch.full_like(weights, 0.2)
    rng = stream(4)
    draws = 100_000
    own = weights + std * torch.randn(draws, weights.shape[1], generator=rng, dtype=DOUBLE)
    noise = torch.randn(draws, 1, 5, generator=rng, dtype=DOUBLE)
    outputs = network(own, x.mean[0] + x.variance[0].sqrt() * noise)[:, 0]
    found = propagated((Linear(4), Linear(3)), x, covariances, [weights, std])
    expected = torch.cov(outputs.T)
    assert (found.covariance[0, 0] - expected).abs().max() < 0.03 * expected.diagonal().max()


@pytest.mark.parametrize("covariances", FORMS, ids=["all", "rank"])
def test_gradients_agree_with_finite_differences(covariances):
    architecture = (Linear(3), LEAKY, Linear(3), ReLU(), Linear(2))
    x, weights = inputs_of((3,), points=1), weights_of(architecture, (3,))

    def outputs(weights, mean, variance):
        y = propagated(architecture, Moments(mean, variance), covariances, weights)
        return y.mean, y.variance, y.covariance

    given = [t.clone().requires_grad_() for t in (weights, x.mean, x.variance)]
    assert torch.autograd.gradcheck(outputs, given, atol=1e-6, fast_mode=True)


@settings(max_examples=20)
@given(
    st.sampled_from(
        [Covariances(), Covariances(order=2), Covariances(rank=3), Covariances(rank=12)]
    ),
    st.sampled_from([0.0, 1e-12, 1e-4, 1.0, 1e6]),
    st.sampled_from([1e-3, 1.0, 30.0]),
    st.sampled_from([torch.float32, torch.float64]),
    st.integers(0, 99),
)
def test_variances_are_positive_and_gradients_finite(covariances, scale, size, dtype, seed):
    architecture = (
        Conv2d(3, 3),
        ReLU(),
        MaxPool2d(2),
        Dropout(0.2),
        Conv2d(4, 2),
        LEAKY,
        Flatten(),
    )
    x = inputs_of((1, 6, 6), seed=seed, scale=scale)
    x = Moments(x.mean.to(dtype), x.variance.to(dtype))
    weights = (size * weights_of(architecture, (1, 6, 6), seed)).to(dtype).requires_grad_()
    found = propagated(architecture, x, covariances, weights)
    assert (found.variance >= 0).all()
    assert found.mean.isfinite().all()
    assert found.covariance.isfinite().all()
    (found.mean.sum() / size**2 + found.variance.sum() / size**4).backward()
    assert weights.grad.isfinite().all()


@pytest.mark.parametrize("covariances", [*FORMS, Covariances(rank=7)], ids=["all", "rank", "few"])
def test_members_and_points_do_not_depend_on_each_other(covariances):
    x = inputs_of((1, 9, 9), points=3)
    weights = torch.cat([weights_of(CONVOLUTIONS, (1, 9, 9), seed) for seed in (1, 2)])
    together = propagated(CONVOLUTIONS, x, covariances, weights)
    for member in range(2):
        alone = propagated(CONVOLUTIONS, x, covariances, weights[member : member + 1])
        assert torch.equal(together.covariance[member], alone.covariance[0])
        assert torch.equal(together.mean[member], alone.mean[0])
    first = Moments(x.mean[:, :1], x.variance[:, :1])
    alone = propagated(CONVOLUTIONS, first, covariances, weights)
    torch.testing.assert_close(alone.covariance, together.covariance[:, :1])


def test_units_that_are_known_exactly_stay_so_until_noise_comes():
    x = Moments(normals(1, 2, 5))
    assert propagated((Linear(4), ReLU()), x).variance is None
    noisy = propagated((Linear(4), ReLU(), Dropout(0.5), Linear(3)), x)
    assert noisy.covariance.shape == (1, 2, 3, 3)


def test_differences_of_logits_have_their_own_variances():
    shared, own = normals(1, 4, 1).exp(), normals(1, 4, 3, seed=1).exp()
    mean = normals(1, 4, 3, seed=2)
    covariance = shared.unsqueeze(-1) + torch.diag_embed(own)
    x = Moments(mean, covariance.diagonal(dim1=-2, dim2=-1))
    for rule in ("logistic", "normal"):
        # a shift common to all logits makes no class more probable
        torch.testing.assert_close(
            log_probabilities(x, rule, covariance), log_probabilities(Moments(mean, own), rule)
        )
    centre = torch.eye(3, dtype=DOUBLE) - 1 / 3
    centred = Moments(mean @ centre, (centre @ covariance @ centre).diagonal(dim1=-2, dim2=-1))
    torch.testing.assert_close(
        log_probabilities(x, "centred", covariance), log_probabilities(centred, "simplified")
    )


def test_what_cannot_be_known_is_refused():
    x = inputs_of((4,))
    with pytest.raises(Unsupported, match="Residual"):
        propagated((Residual((Linear(4),)),), x)
    with pytest.raises(Unsupported, match="Residual"):
        propagated((Residual((ReLU(),), (Linear(4),)),), x)
    image = inputs_of((1, 4, 4))
    weights = weights_of((Conv2d(2, 3),), (1, 4, 4))
    with pytest.raises(Unsupported, match="Gaussian weights"):
        propagated((Conv2d(2, 3),), image, weights=[weights, weights.abs()])
    for settings_ in ({"rank": 0}, {"order": 0}, {"rank": 4, "order": 2}):
        with pytest.raises(ValueError, match="Covariances"):
            replace(Covariances(), **settings_)


def test_directions_agree_with_singular_vectors_and_are_kept_for_equal_weights():
    layer, kept = Conv2d(5, 3), DirectionCache()
    weight = normals(5, 2, 3, 3)
    linear = LinearMap(layer, weight, (2, 9, 9), kept)
    matrix = linear.apply(torch.eye(162, dtype=DOUBLE).view(162, 2, 9, 9)).flatten(1).T
    units = torch.eye(245, dtype=DOUBLE).view(245, 5, 7, 7)
    torch.testing.assert_close(linear.adjoint(units).flatten(1), matrix)
    found = linear.directions(20)
    torch.testing.assert_close(found @ found.T, torch.eye(20, dtype=DOUBLE))
    best = torch.linalg.svdvals(matrix)[:20].square().sum()
    assert (matrix @ found.T).square().sum() > 0.98 * best
    assert LinearMap(layer, weight.clone(), (2, 9, 9), kept).directions(20) is found
    assert LinearMap(layer, 2 * weight, (2, 9, 9), kept).directions(20) is not found
    for number in range(2, 2 + MOST_KEPT):
        LinearMap(layer, number * weight, (2, 9, 9), kept).directions(400)
    assert LinearMap(layer, weight, (2, 9, 9), kept).directions(20) is not found


def test_independent_inputs_pass_dense_layers_as_they_would_with_their_covariances():
    rng = stream(0)
    mean, variance, weights = (
        torch.rand(2, *shape, generator=rng, dtype=torch.float64)
        for shape in ((3, 5), (3, 5), (4, 5))
    )
    x, kept = Moments(mean, variance), DirectionCache()
    maps = [LinearMap(Linear(4), weight, (5,), kept) for weight in weights]
    out, extra = torch.rand(2, 2, 3, 4, generator=rng, dtype=torch.float64)
    short = CorrelatedMoments.behind(x, out, maps, extra)
    long = CorrelatedMoments.of(x).mapped(out, maps, extra)
    torch.testing.assert_close(short.covariance, long.covariance, rtol=1e-13, atol=0)
    assert torch.equal(short.mean, out)

"""Models: distributions of their weights, and divergences computed by hand."""

import math

import pytest
import torch
from torch.distributions import Normal, kl_divergence

from bnnbench.methods.base import Unsupported
from bnnbench.methods.function_space.base import Model
from bnnbench.methods.function_space.models import Dropout, Map, MeanField, Members
from bnnbench.methods.function_space.radial import Radial
from bnnbench.methods.function_space.rank1 import Rank1
from bnnbench.methods.function_space.weights import hidden_weights, softplus
from bnnbench.methods.networks.architectures import BatchNorm, Conv2d, Flatten, Linear, ReLU
from bnnbench.methods.networks.torch_network import TorchNetwork
from tests.methods.problems import stream, streams

MODELS = (Map(), Members(3), Dropout(0.2), Dropout(0.2, masks=3), MeanField(), Radial(), Rank1(3))
DENSE = (Linear(6), ReLU(), Linear(5, bias=False), ReLU(), Linear(3))
CONVOLUTIONAL = (Conv2d(3, 2), BatchNorm(), ReLU(), Flatten(), Linear(3))
SHAPES = {DENSE: (4,), CONVOLUTIONAL: (2, 3, 3)}


def network(architecture=DENSE):
    return TorchNetwork(architecture, SHAPES[architecture])


def numbers_of(model, of, *seeds):
    """Return initial parameters of problems, one for each seed."""
    rngs = streams(*seeds)
    return model.initial(of, of.initial_weights(rngs, dtype=torch.float64), rngs)


def part(of, path):
    (found,) = [part for part in of.parameters if part.path == path]
    return found


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_it_has_the_form_of_the_protocol(model):
    assert isinstance(model, Model)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_outputs_of_what_networks_are_shown_are_gathered_in_the_order_of_the_batch(model):
    """If a network were the identity, every draw would equal the batch."""
    batch = torch.randn(2, 7, 5, generator=stream(0))
    shown = model.shown(batch)
    assert len(shown) == 2 * model.networks
    draws = model.gathered(shown)
    rows = torch.arange(draws.shape[2]) % 7
    torch.testing.assert_close(draws, batch[:, rows].expand(len(draws), -1, -1, -1))
    assert draws.shape[2] == (9 if isinstance(model, Rank1) else 7)


def test_members_see_all_of_a_batch_and_rank_1_members_their_part():
    batch = torch.arange(8.0).view(1, 8, 1)
    assert Members(2).shown(batch).squeeze(-1).tolist() == [list(range(8))] * 2
    assert Rank1(2).shown(batch).squeeze(-1).tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert Members(2).gathered(torch.zeros(2, 8, 3)).shape == (2, 1, 8, 3)
    assert Rank1(2).gathered(torch.zeros(2, 4, 3)).shape == (1, 1, 8, 3)


@pytest.mark.parametrize("model", [Radial(), Rank1(), MeanField()], ids=repr)
def test_no_batch_couples_problems(model):
    of = network()
    both = model.weights(of, numbers_of(model, of, 5, 6), streams(0, 1))
    one = model.weights(of, numbers_of(model, of, 6), streams(1))
    for a, b in zip(both, one, strict=True) if isinstance(both, tuple) else [(both, one)]:
        assert torch.equal(a[len(a) // 2 :], b)


def test_softplus_is_the_librarys():
    rho = torch.linspace(-30, 20, 101, dtype=torch.float64)
    torch.testing.assert_close(softplus(rho), torch.nn.functional.softplus(rho, threshold=50))
    assert float(softplus(torch.tensor(-5.0))) == pytest.approx(0.00671535, rel=1e-5)
    assert float(softplus(torch.tensor(-3.0))) == pytest.approx(0.04858735, rel=1e-5)


def test_weights_of_all_layers_but_the_last_are_random_and_biases_are_not():
    assert [part.path for part in hidden_weights(network())] == ["0.weight", "2.weight"]
    assert [part.path for part in hidden_weights(network(CONVOLUTIONAL))] == ["0.weight"]
    with pytest.raises(Unsupported, match="needed a hidden layer"):
        hidden_weights(TorchNetwork((Linear(3),), (4,)))


@pytest.mark.parametrize("architecture", SHAPES)
@pytest.mark.parametrize("model", [Radial(), Rank1(1)], ids=repr)
def test_what_is_not_random_is_the_initial_weights(model, architecture):
    of = network(architecture)
    numbers = numbers_of(model, of, 0)
    drawn = model.weights(of, numbers, streams(1))
    fixed = torch.ones(of.parameter_count, dtype=torch.bool)
    for random in hidden_weights(of):
        fixed[random.offset : random.stop] = False
    start = numbers[:, : of.parameter_count]
    assert torch.equal(drawn[:, fixed], start[:, fixed])
    assert (drawn[:, ~fixed] != start[:, ~fixed]).all()


def test_radial_weights_have_gaussian_distances_in_uniform_directions_tensor_by_tensor():
    model, of, count = Radial(rho=0.3), network(), 20_000
    numbers = numbers_of(model, of, 0).expand(count, -1)
    rngs = [torch.Generator().manual_seed(seed) for seed in range(count)]
    offsets = (model.weights(of, numbers, rngs) - numbers[:, : of.parameter_count]) / math.log1p(
        math.exp(0.3)
    )
    distances = []
    for path in ("0.weight", "2.weight"):
        own = part(of, path)
        noise = offsets[:, own.offset : own.stop]
        squares = noise.square().sum(1)
        # r² is chi-squared with one degree of freedom, for any number of weights.
        assert squares.mean().item() == pytest.approx(1, abs=5 * math.sqrt(2 / count))
        assert squares.square().mean().item() == pytest.approx(3, rel=0.1)
        covariance = noise.T @ noise / count
        expected = torch.eye(own.size, dtype=torch.float64) / own.size
        torch.testing.assert_close(covariance, expected, rtol=0, atol=0.01)
        distances.append(squares)
    correlation = torch.corrcoef(torch.stack(distances))[0, 1]
    assert abs(correlation) < 5 / math.sqrt(count)


def test_rank_1_weights_are_the_shared_ones_times_the_outer_product_of_the_factors():
    model, of = Rank1(2, rho=-1.0), network(CONVOLUTIONAL)
    numbers = numbers_of(model, of, 0)
    drawn = model.weights(of, numbers, streams(1))
    own = part(of, "0.weight")
    shared = numbers[:, own.offset : own.stop].view(own.shape)
    ratio = (drawn[:, own.offset : own.stop].view(2, *own.shape) / shared).flatten(3)
    for member in ratio:
        assert (member - member[..., :1]).abs().max() < 1e-12  # one factor for a whole kernel
        assert torch.linalg.matrix_rank(member[..., 0]) == 1
    assert not torch.allclose(ratio[0], ratio[1])


def test_rank_1_factors_are_gaussians_around_1():
    model, of, count = Rank1(1, rho=-1.0), network(), 20_000
    numbers = numbers_of(model, of, 0).expand(count, -1)
    rngs = [torch.Generator().manual_seed(seed) for seed in range(count)]
    ratio = model.weights(of, numbers, rngs)[:, :24] / numbers[:, :24]
    variance = math.log1p(math.exp(-1.0)) ** 2
    torch.testing.assert_close(ratio.mean(0), torch.ones(24).double(), rtol=0, atol=0.02)
    # The product of two independent factors of mean 1.
    expected = torch.full((24,), (1 + variance) ** 2 - 1).double()
    torch.testing.assert_close(ratio.var(0), expected, rtol=0.1, atol=0)


def test_a_rank_1_layer_scales_its_inputs_and_outputs():
    """y = v * conv(u * x): the published form of the method."""
    model, of = Rank1(1, rho=-1.0), network(CONVOLUTIONAL)
    numbers = numbers_of(model, of, 0)
    x = torch.randn(5, 2, 3, 3, generator=stream(2), dtype=torch.float64)
    own, bias = part(of, "0.weight"), part(of, "0.bias")
    drawn = model.weights(of, numbers, streams(1))[0]
    factors = drawn[own.offset : own.stop].view(own.shape)
    shared = numbers[0, own.offset : own.stop].view(own.shape)
    outer = (factors / shared)[:, :, 0, 0]
    v, u = outer[:, 0], outer[0] / outer[0, 0]
    convolve = torch.nn.functional.conv2d
    scaled = v[:, None, None] * convolve(u[:, None, None] * x, shared)
    b = drawn[bias.offset : bias.stop]
    torch.testing.assert_close(convolve(x, factors, b), scaled + b[:, None, None])


def by_torch(mean, std, prior_mean, prior_std):
    return kl_divergence(Normal(mean, std), Normal(prior_mean, prior_std)).sum()


@pytest.mark.parametrize("architecture", SHAPES)
def test_divergences_agree_with_gaussians_per_row(architecture):
    of = network(architecture)
    size = sum(part.size for part in hidden_weights(of))
    radial = numbers_of(Radial(), of, 0)
    means = torch.cat([radial[0, part.offset : part.stop] for part in hidden_weights(of)])
    std = torch.full_like(means, math.log1p(math.exp(-5)))
    found = Radial().penalty(of, radial, 50)
    torch.testing.assert_close(found[0], by_torch(means, std, 0.0, 0.1) / 50)

    mean_field = MeanField(prior_std=0.7)
    numbers = numbers_of(mean_field, of, 0)
    every = numbers[0, : of.parameter_count]
    expected = by_torch(every, torch.full_like(every, math.log1p(math.exp(-5))), 0.0, 0.7) / 50
    torch.testing.assert_close(mean_field.penalty(of, numbers, 50)[0], expected)
    assert size < of.parameter_count


def test_a_weight_of_known_divergence():
    """One Gaussian weight at 0 and one factor at 1, to ten digits."""
    mean = torch.zeros(1, 1, dtype=torch.float64)
    std = mean + math.log1p(math.exp(-5))
    assert by_torch(mean, std, 0.0, 0.1).item() == pytest.approx(2.20302926, rel=1e-8)
    model, of = Rank1(4, weight_decay=0.0), network()
    factors = sum(sum(part.shape[:2]) for part in hidden_weights(of))
    found = model.penalty(of, numbers_of(model, of, 0), 10).item()
    assert found == pytest.approx(4 * factors * 0.33984348 / 10, rel=1e-7)


def test_shared_weights_of_rank_1_decay():
    of = network()
    plain, decayed = (Rank1(weight_decay=decay) for decay in (0.0, 0.02))
    numbers = numbers_of(plain, of, 0)
    more = decayed.penalty(of, numbers, 10) - plain.penalty(of, numbers, 10)
    torch.testing.assert_close(more, 0.01 * numbers[:, : of.parameter_count].square().sum(1))


def test_points_have_no_divergence():
    of = network()
    for model in (Map(), Members(3), Dropout(0.1)):
        assert model.penalty(of, numbers_of(model, of, 0, 1), 10).tolist() == [0, 0]


def test_a_network_without_dense_layers_has_nothing_to_drop():
    with pytest.raises(Unsupported, match="linear layer"):
        Dropout(0.5).architecture((Conv2d(3, 3), Flatten()))

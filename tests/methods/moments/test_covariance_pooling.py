"""Maxima of correlated units, compared with samples and the formulas for one pair."""

import pytest
import torch

from bnnbench.methods.base import Unsupported
from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.covariances.correlated import CorrelatedMoments
from bnnbench.methods.moments.covariances.covariance import Covariances, covariance_rules
from bnnbench.methods.moments.covariances.low_rank import LowRankMoments
from bnnbench.methods.moments.covariances.pooling import max_pool
from bnnbench.methods.moments.rules import Formulas
from bnnbench.methods.moments.units.maximum import max_pool as independent_max_pool
from bnnbench.methods.networks.architectures import AvgPool2d, Conv2d, MaxPool2d
from bnnbench.methods.networks.torch_network import TorchNetwork
from tests.methods.problems import stream

DOUBLE = torch.float64


def normals(*shape, seed=0):
    return torch.randn(*shape, generator=stream(seed), dtype=DOUBLE)


def images(channels, height, width, seed=0, shared=1.0):
    """Return correlated images of one member and one point, in both forms."""
    count = channels * height * width
    factor = shared * normals(1, 1, 3, channels, height, width, seed=seed)
    alone = 0.3 * normals(1, 1, channels, height, width, seed=seed + 1).exp()
    mean = normals(1, 1, channels, height, width, seed=seed + 2)
    few = LowRankMoments(mean, alone + factor.square().sum(2), factor, 3)
    assert few.covariance.shape[-1] == count
    return few, CorrelatedMoments(mean, few.covariance)


def sampled(x, size, count=400_000):
    """Return mean and covariance of the maxima of samples."""
    root = torch.linalg.cholesky(x.covariance[0, 0])
    draws = torch.randn(count, len(root), generator=stream(7), dtype=DOUBLE) @ root.T
    draws = x.mean[0, 0] + draws.unflatten(1, x.shape[2:])
    pooled = torch.nn.functional.max_pool2d(draws, size).flatten(1)
    return pooled.mean(0), torch.cov(pooled.T)


@pytest.mark.parametrize(("shape", "size"), [((2, 2, 4), 2), ((1, 3, 7), 3), ((1, 5, 5), 2)])
def test_maxima_of_windows_are_near_those_of_samples(shape, size):
    few, every = images(*shape, shared=0.5)
    found = max_pool(few, size)
    torch.testing.assert_close(found.covariance, max_pool(every, size).covariance)
    mean, covariance = sampled(every, size)
    alone = independent_max_pool(Moments(few.mean, few.variance), size)
    error = (found.covariance[0, 0] - covariance).abs().mean()
    assert error < 0.12 * covariance.diagonal().mean()
    assert error < 0.7 * (alone.variance.flatten().diag() - covariance).abs().mean()
    assert (found.mean.flatten() - mean).abs().mean() < (
        alone.mean.flatten() - mean
    ).abs().mean() / 3


def test_covariance_with_the_larger_of_a_pair_is_exact():
    few, every = images(1, 1, 3)
    i, j, other = torch.tensor([0, 2]), torch.tensor([1, 2]), 1
    mean, covariance = sampled_pair(every)
    for x in (few, every):
        flat = x.reshaped(x.mean.flatten(2))
        spread = flat.covariance[0, 0, 0, 0] + flat.covariance[0, 0, 1, 1]
        spread = (spread - 2 * flat.covariance[0, 0, 0, 1]).sqrt()
        gate = torch.special.ndtr((flat.mean[0, 0, 0] - flat.mean[0, 0, 1]) / spread)
        share = torch.stack([gate, torch.ones((), dtype=DOUBLE)])[None, None]
        y = Moments(mean[None, None], covariance.diagonal()[None, None])
        found = flat.joined(i, j, y, share).covariance[0, 0]
        torch.testing.assert_close(found[0, other], covariance[0, 1], atol=0.01, rtol=0)


def sampled_pair(x):
    root = torch.linalg.cholesky(x.covariance[0, 0])
    draws = x.mean.flatten() + torch.randn(10**6, 3, generator=stream(8), dtype=DOUBLE) @ root.T
    both = torch.stack([draws[:, :2].amax(1), draws[:, 2]])
    return both.mean(1), torch.cov(both)


def test_a_window_of_equal_units_has_their_moments():
    factor = torch.ones(1, 1, 1, 1, 2, 2, dtype=DOUBLE)
    x = LowRankMoments(factor[:, :, 0], factor[:, :, 0], factor, 1)
    for form in (x, CorrelatedMoments(x.mean, x.covariance)):
        found = max_pool(form, 2)
        assert found.mean.item() == pytest.approx(1)
        assert found.variance.item() == pytest.approx(1)


def test_averages_drop_a_ragged_border():
    x = Moments(normals(1, 1, 1, 6, 6), normals(1, 1, 1, 6, 6, seed=1).exp())
    for covariances in (Covariances(), Covariances(rank=40)):
        first = TorchNetwork((Conv2d(2, 2),), (1, 6, 6), covariance_rules(covariances))
        both = TorchNetwork((Conv2d(2, 2), AvgPool2d(2)), (1, 6, 6), covariance_rules(covariances))
        weights = normals(1, first.parameter_count, seed=2)
        before = first(weights, x).covariance[0, 0].view(2, 5, 5, 2, 5, 5)[:, :4, :4, :, :4, :4]
        expected = before.reshape(2, 2, 2, 2, 2, 2, 2, 2, 2, 2).mean((2, 4, 7, 9)).view(8, 8)
        torch.testing.assert_close(both(weights, x).covariance[0, 0], expected)


def test_maxima_by_the_papers_formula_are_refused():
    rules = covariance_rules(Covariances(), Formulas(variance="paper"))
    network = TorchNetwork((Conv2d(2, 2), MaxPool2d(2)), (1, 5, 5), rules)
    x = Moments(normals(1, 1, 1, 5, 5), torch.ones(1, 1, 1, 5, 5, dtype=DOUBLE))
    with pytest.raises(Unsupported, match="exact"):
        network(normals(1, network.parameter_count), x)

"""The linear truth: its stated distribution, by elementary sums."""

import math

import pytest
import torch

from bnnbench.datasets.base import DataSource, Gaussian
from bnnbench.datasets.generated.linear import FEATURES, LinearTruth

CORRELATIONS = (0.0, 0.5, 0.9)


@pytest.mark.parametrize("correlation", CORRELATIONS)
def test_training_inputs_have_the_covariance_of_the_law(correlation):
    train = LinearTruth(correlation).load(3).train.inputs.double()
    places = torch.arange(FEATURES)
    wanted = torch.tensor(correlation) ** (places[:, None] - places).abs()
    torch.testing.assert_close(train.T @ train / len(train), wanted.double(), rtol=0, atol=1e-5)


@pytest.mark.parametrize("correlation", CORRELATIONS)
def test_at_test_inputs_the_posterior_spreads_by_one_and_a_half_times_the_noise(correlation):
    data = LinearTruth(correlation).load(1)
    assert data.likelihood == Gaussian(1.0)
    train, test = data.train.inputs.double(), data.test.inputs.double()
    covariance = torch.linalg.inv(train.T @ train + FEATURES * torch.eye(FEATURES).double())
    spread = (test @ covariance * test).sum(1).sqrt()
    torch.testing.assert_close(spread, torch.full_like(spread, 1.5), rtol=1e-5, atol=0)


def test_without_correlation_the_posterior_has_one_variance():
    train = LinearTruth().load(0).train.inputs.double()
    precision = train.T @ train + FEATURES * torch.eye(FEATURES).double()
    torch.testing.assert_close(precision, 30 * torch.eye(FEATURES).double(), rtol=0, atol=1e-4)


def test_targets_are_the_truth_and_noise_of_variance_one():
    folds = [LinearTruth(0.5).load(fold) for fold in range(200)]
    noise = torch.cat([data.test.targets - data.truth for data in folds]).double()
    # 2000 draws: a mean within 4.5 / √2000, a variance within 4.5 √(2 / 2000).
    assert abs(float(noise.mean())) < 0.1
    assert float(noise.var()) == pytest.approx(1, abs=4.5 * math.sqrt(2 / len(noise)))
    other = folds[0].truth
    assert not torch.equal(other, folds[1].truth)


def test_weights_agree_with_the_prior():
    weights = []
    for fold in range(200):
        data = LinearTruth().load(fold)
        solved = torch.linalg.lstsq(data.test.inputs.double(), data.truth.double()).solution
        weights.append(solved[:, 0])
    drawn = torch.stack(weights)
    assert float(drawn.var()) == pytest.approx(0.1, rel=4.5 * math.sqrt(2 / drawn.numel()))


def test_it_is_a_source_without_files():
    source = LinearTruth(0.9)
    assert isinstance(source, DataSource)
    assert (source.name, source.missing(), source.origin) == (
        *("linear_correlation_0.9", ()), "generated",
    )  # fmt: skip
    assert source.load(2) is source.load(2)
    with pytest.raises(ValueError, match="between -1 and 1"):
        LinearTruth(1.0)
    with pytest.raises(ValueError, match="folds 0 to 999"):
        source.load(1000)

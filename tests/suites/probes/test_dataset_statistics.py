"""The statistic of a single pixel, compared with the statistics of a training set."""

import numpy as np
import pytest
import torch

from bnnbench.datasets.base import Categorical, Dataset, Scaling, Split
from bnnbench.methods.base import Problem
from bnnbench.methods.moment_propagation.untrained import Untrained
from bnnbench.methods.networks.architectures import Conv2d, Flatten, LeakyReLU, Linear
from bnnbench.suites.probes.dataset_statistics import DatasetStatistics
from tests.methods.problems import stream

NETWORK = (Conv2d(6, 3), LeakyReLU(0.01), Conv2d(4, 3), Flatten(), Linear(2))
SHAPE = (2, 5, 5)


def data(points: int, alike: bool = False) -> Dataset:
    """Return independent normal pixels, or images of equal pixels."""
    inputs = torch.randn(points, *SHAPE, generator=stream(1))
    inputs = 0.5 + 2 * (inputs[..., :1, :1].expand_as(inputs) if alike else inputs)
    split = Split(inputs.contiguous(), torch.zeros(points, dtype=torch.long))
    return Dataset(
        split, split, Categorical(2), "generated", Scaling(torch.zeros(1), torch.ones(1))
    )


def measured(given: Dataset, initialisation="none"):
    problem = Problem(given.train, given.likelihood, NETWORK)
    posterior = Untrained(initialisation).fit(problem, stream(0))
    layers = DatasetStatistics().measure(posterior, given, stream(2))
    return posterior, {name: one.scores for name, one in layers.items()}


def test_independent_normal_pixels_are_what_the_statistic_assumes():
    _, scores = measured(data(20_000))
    assert list(scores) == [f"layer_{name}" for name in ("1_C", "2_A", "3_C", "4_F")]
    first, activated = scores["layer_1_C"], scores["layer_2_A"]
    for errors in (first, activated):
        assert errors["eps_mu"] < 0.01
        assert errors["eps_sigma"] == pytest.approx(1, abs=0.01)
    assert first["eps_mu_floor"] == first["excluded_share"] == 0


def test_the_truth_is_numpy_s_over_points_and_positions():
    given = data(30)
    posterior, _ = measured(given)
    inputs = given.train.inputs
    units = DatasetStatistics().truth(posterior, inputs)[1, "C"]
    (weights,) = posterior.trained.weights
    kernels, bias = weights[:108].view(6, 2, 3, 3), weights[108:114]
    outputs = torch.nn.functional.conv2d(inputs.double(), kernels.double(), bias.double()).numpy()
    np.testing.assert_allclose(units.mean[0], outputs.mean((0, 2, 3)), atol=1e-6)
    np.testing.assert_allclose(units.std[0], outputs.std((0, 2, 3)), rtol=1e-5)


def test_pixels_that_are_all_alike_have_the_deviation_of_summed_kernels():
    """Independence gives the root of the sum of squares; the truth is the sum's magnitude."""
    given = data(20_000, alike=True)
    posterior, scores = measured(given)
    (weights,) = posterior.trained.weights
    kernels = weights[:108].view(6, 2, 9).double()
    truth = kernels.sum(2).square().sum(1).sqrt()
    assumed = kernels.square().sum((1, 2)).sqrt()
    expected = float((assumed / truth).log().mean().exp())
    assert scores["layer_1_C"]["eps_sigma"] == pytest.approx(expected, rel=0.02)


def test_rescaled_networks_start_with_mean_0_and_variance_1_by_their_own_statistic():
    given = data(500)
    posterior, _ = measured(given, "bn")
    truth = DatasetStatistics().truth(posterior, given.train.inputs)
    for name in ((1, "C"), (3, "C"), (4, "F")):
        np.testing.assert_allclose(truth[name].mean, 0, atol=1e-4)
        np.testing.assert_allclose(truth[name].std, 1, rtol=1e-3)
    plain, _ = measured(given)
    assert not torch.equal(plain.trained.weights, posterior.trained.weights)

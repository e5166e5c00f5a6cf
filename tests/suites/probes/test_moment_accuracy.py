"""Errors of propagated moments on networks whose moments are known."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import norm

from bnnbench.datasets.base import Categorical, Dataset, Scaling, Split
from bnnbench.methods.fitting.network_posterior import NetworkPosterior
from bnnbench.methods.moment_propagation.approximation import ApproximatePosterior
from bnnbench.methods.moments.covariances.covariance import Covariances
from bnnbench.methods.moments.rules import Formulas
from bnnbench.methods.networks.architectures import Dropout, GaussianNoise, LeakyReLU, Linear, ReLU
from bnnbench.methods.networks.torch_network import TorchNetwork
from bnnbench.suites.probes import moment_accuracy
from bnnbench.suites.probes.moment_accuracy import MomentAccuracy, in_parts
from tests.methods.problems import stream

SAMPLES = 10_000
FLOOR = (2 / (np.pi * SAMPLES)) ** 0.5
LINEAR = (GaussianNoise(0.5), Linear(40))
FEATURES = 6


@pytest.fixture(autouse=True)
def in_few_calls(monkeypatch):
    monkeypatch.setattr(moment_accuracy, "ROWS_AT_ONCE", 16_384)


def posterior(architecture, propagation="ap2", covariances=None, formulas=None):
    network = TorchNetwork(architecture, (FEATURES,))
    weights = network.initial_weights([stream(0)])
    trained = NetworkPosterior(
        network, Categorical(2), weights, network.initial_buffers(weights), None, {}
    )
    formulas = formulas or Formulas()
    return ApproximatePosterior(trained, architecture, propagation, formulas, covariances)


def data(images: int = 4) -> Dataset:
    inputs = torch.randn(images, FEATURES, generator=stream(1))
    split = Split(inputs, torch.zeros(images, dtype=torch.long))
    scaling = Scaling(torch.zeros(FEATURES), torch.ones(FEATURES))
    return Dataset(split, split, Categorical(2), "generated", scaling)


def measured(found, **settings):
    probe = MomentAccuracy(**{"images": 4, "samples": SAMPLES, "merge_first": False} | settings)
    scores = probe.measure(found, data(), stream(2))
    return {name: one.scores for name, one in scores.items()}


def test_exact_moments_of_a_linear_network_err_by_no_more_than_its_samples():
    scores = measured(posterior(LINEAR))["layer_1_F"]
    # 160 units with the errors of 6 noises: means of |normals| vary by half.
    assert scores["eps_mu"] == pytest.approx(FLOOR, rel=0.6)
    assert scores["eps_mu_floor"] == pytest.approx(FLOOR)
    assert scores["eps_sigma"] == pytest.approx(1, abs=3 / (2 * SAMPLES) ** 0.5)
    assert scores["excluded_share"] == 0


def test_means_alone_of_a_linear_network_are_as_good():
    alone = measured(posterior(LINEAR, "ap1"))["layer_1_F"]
    assert alone.keys() == {"eps_mu", "eps_mu_floor"}
    both = measured(posterior(LINEAR))["layer_1_F"]
    assert alone["eps_mu"] == pytest.approx(both["eps_mu"], rel=1e-3)


def test_means_alone_behind_a_rectifier_err_by_the_integral():
    """The mean of max(X, 0) minus max(mean, 0), over the mean standard deviation."""
    network = (GaussianNoise(0.5), Linear(40), ReLU(), Linear(2))
    found = posterior(network, "ap1")
    (weights,) = found.trained.weights.double()
    w, b = weights[: 40 * FEATURES].view(40, FEATURES), weights[40 * FEATURES :][:40]
    mean = (data().test.inputs.double() @ w.T + b).numpy()
    std = np.sqrt(0.5) * w.norm(dim=1).numpy()
    z = np.linspace(-9, 9, 20_001)
    rectified = np.maximum(mean[..., None] + std[:, None] * z, 0)
    density = norm.pdf(z)
    first = np.trapezoid(rectified * density, z)
    second = np.trapezoid((rectified - first[..., None]) ** 2 * density, z)
    expected = np.abs(first - np.maximum(mean, 0)).mean() / np.sqrt(second).mean()
    scores = measured(found)["layer_2_A"]
    assert scores["eps_mu"] == pytest.approx(expected, rel=0.02)
    exact = measured(posterior(network))["layer_2_A"]
    # Samples of units that are rarely above 0 show too little deviation.
    assert exact["eps_sigma"] == pytest.approx(1, abs=0.04)
    assert exact["eps_mu"] < 3 * FLOOR


def test_covariances_mend_the_deviation_behind_two_linear_layers():
    network = (*LINEAR, Linear(30))
    ignored = measured(posterior(network))["layer_2_F"]["eps_sigma"]
    carried = measured(posterior(network, covariances=Covariances()))["layer_2_F"]["eps_sigma"]
    assert carried == pytest.approx(1, abs=0.02)
    assert abs(np.log(ignored)) > 5 * abs(np.log(carried))


def test_the_first_layer_may_count_with_its_activation():
    network = (GaussianNoise(0.5), Linear(8), LeakyReLU(0.01), Linear(2))
    apart, together = (measured(posterior(network), merge_first=m) for m in (False, True))
    assert [name for name in apart if "layer" in name] == [
        *("layer_1_C", "layer_2_A", "layer_3_F"),
    ]
    assert [name for name in together if "layer" in name] == ["layer_1_CA", "layer_2_F"]
    assert together["layer_1_CA"] == apart["layer_2_A"]


def test_layers_in_which_nothing_is_random_are_left_out():
    scores = measured(posterior((Linear(8), ReLU(), Dropout(0.2), Linear(2))))
    assert [name for name in scores if "layer" in name] == ["layer_2_A", "layer_3_F"]
    assert scores["layer_2_A"]["eps_sigma"] == pytest.approx(1, abs=0.01)
    dead = scores["layer_2_A"]["excluded_share"]
    assert 0.2 < dead < 0.8  # rectified to 0, dropped or not


def test_class_probabilities_of_logits_with_one_variance_agree_with_the_integral():
    network = (GaussianNoise(2.0), Linear(2))
    found = posterior(network)
    found.trained.weights[:] = torch.tensor([1.0, *[0.0] * 6, 1.0, *[0.0] * 4, 0.0, 0.0])
    scores = measured(found)
    assert set(scores) >= {"softmax_simplified", "softmax_full"}
    z = np.linspace(-9, 9, 20_001)
    inputs = data().test.inputs.double().numpy()
    ahead = inputs[:, 0] - inputs[:, 1]
    truth = np.trapezoid(norm.pdf(z) / (1 + np.exp(-(ahead[:, None] + 2 * z))), z)
    claimed = 1 / (1 + np.exp(-ahead / np.sqrt(3 * 4 / np.pi**2 + 1)))
    divergence = truth * np.log(truth / claimed) + (1 - truth) * np.log((1 - truth) / (1 - claimed))
    full = scores["softmax_full"]
    assert full["kl_class_posterior"] == pytest.approx(divergence.mean(), abs=5e-4)
    assert 0 < full["kl_floor"] < 1e-4
    assert set(measured(posterior(network, "ap1"))) == {"layer_1_F", "softmax"}


def test_posteriors_of_equal_weights_are_sampled_once(monkeypatch):
    calls = []
    sampled = MomentAccuracy._sampled

    def counted(self, *arguments):
        calls.append(arguments)
        return sampled(self, *arguments)

    monkeypatch.setattr(MomentAccuracy, "_sampled", counted)
    monkeypatch.setattr(moment_accuracy, "_last", type(moment_accuracy._last)())
    found = [posterior(LINEAR, way) for way in ("ap1", "ap2")]
    for one in (*found, replace(found[0], architecture=(GaussianNoise(0.1), Linear(40)))):
        measured(one, samples=100)
    assert len(calls) == 2
    measured(found[0], samples=101)
    assert len(calls) == 3


def test_the_number_of_samples_is_met_in_any_portions(monkeypatch):
    assert [*in_parts(10, 4)] == [4, 4, 2]
    monkeypatch.setattr(moment_accuracy, "ROWS_AT_ONCE", 12)
    truth = MomentAccuracy(4, 10).truth(posterior(LINEAR), data().test.inputs, stream(2))
    assert {units.samples for units in truth.values()} == {10}


@pytest.mark.parametrize("settings", [{"images": 0}, {"samples": 1}])
def test_too_little_to_measure_by_is_refused(settings):
    with pytest.raises(ValueError, match="at least 1 image and 2 samples"):
        MomentAccuracy(**settings)


def test_a_wide_network_sees_fewer_rows_at_once_and_has_as_many_samples(monkeypatch):
    """Outputs of 6 and 40 units, for which memory allows 10 rows."""
    rows: list[int] = []
    sampled = ApproximatePosterior.samples

    def counted(self, inputs, rng):
        rows.append(len(inputs))
        return sampled(self, inputs, rng)

    monkeypatch.setattr(ApproximatePosterior, "samples", counted)
    monkeypatch.setattr(moment_accuracy, "NUMBERS_AT_ONCE", 10 * (FEATURES + 40))
    truth = MomentAccuracy(images=4, samples=7).truth(
        posterior(LINEAR), data().test.inputs, stream(2)
    )
    assert rows == [8, 8, 8, 4]
    assert {units.samples for units in truth.values()} == {7}

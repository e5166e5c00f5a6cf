"""Samples of outputs and propagated moments, on networks whose outputs are Gaussian."""

import numpy as np
import pytest
from scipy.stats import norm

from bnnbench.methods.networks.architectures import GaussianNoise, Linear
from bnnbench.suites.probes.output_samples import LEVELS, OutputSamples
from tests.methods.problems import stream
from tests.suites.probes.test_moment_accuracy import FEATURES, data, posterior

VARIANCE, SAMPLES = 0.5, 20_000
LINEAR = (GaussianNoise(VARIANCE), Linear(3))


def measured(image=1, propagation="ap2"):
    found = posterior(LINEAR, propagation)
    return found, OutputSamples(image, SAMPLES).measure(found, data(), stream(2))


def exact(found, image):
    """Return mean and standard deviation of each output of the linear network."""
    (weights,) = found.trained.weights.double()
    w, b = weights[: 3 * FEATURES].view(3, FEATURES), weights[3 * FEATURES :]
    mean = data().test.inputs[image].double() @ w.T + b
    return mean.numpy(), (VARIANCE**0.5 * w.norm(dim=1)).numpy()


def test_propagated_moments_of_a_linear_network_are_exact():
    found, scores = measured()
    means, stds = exact(found, 1)
    for number, (mean, std) in enumerate(zip(means, stds, strict=True)):
        one = scores[f"output_{number}"]
        assert one.scores["propagated_mean"] == pytest.approx(mean, rel=1e-5)
        assert one.scores["propagated_std"] == pytest.approx(std, rel=1e-5)
        assert (one.traits.output, one.traits.level) == (number, None)


def test_sampled_quantiles_agree_with_the_gaussian():
    found, scores = measured()
    for number, (mean, std) in enumerate(zip(*exact(found, 1), strict=True)):
        for level in LEVELS:
            one = scores[f"output_{number}_quantile_{level:g}"]
            z = norm.ppf(level)
            error = np.sqrt(level * (1 - level) / SAMPLES) / norm.pdf(z)
            found_z = (one.scores["sampled_quantile"] - mean) / std
            assert found_z == pytest.approx(z, abs=4.5 * error)
            assert (one.traits.output, one.traits.level) == (number, level)


def test_only_means_are_propagated_without_variances_and_samples_are_the_same():
    _, alone = measured(propagation="ap1")
    _, both = measured()
    assert alone["output_0"].scores.keys() == {"propagated_mean"}
    sampled = [name for name in alone if "quantile" in name]
    assert len(sampled) == 3 * len(LEVELS)
    assert all(alone[name] == both[name] for name in sampled)


def test_another_image_has_other_outputs():
    found, scores = measured(image=3)
    assert scores["output_2"].scores["propagated_mean"] == pytest.approx(exact(found, 3)[0][2])


@pytest.mark.parametrize("settings", [{"image": -1}, {"samples": 1}])
def test_settings_that_cannot_be_are_refused(settings):
    with pytest.raises(ValueError, match="needed an image number >= 0 and at least 2 samples"):
        OutputSamples(**settings)


def test_an_image_beyond_the_test_set_is_refused():
    with pytest.raises(ValueError, match="needed one of 4 images; got number 4"):
        measured(image=4)

"""Epinets on small problems: the base network alone, draws of the index, and priors."""

from dataclasses import replace

import pytest
import torch

from bnnbench.methods.base import Unsupported
from bnnbench.methods.epinet.method import Epinet
from bnnbench.methods.epinet.training import Training
from bnnbench.methods.fitting.network_posterior import POINTS_AT_ONCE
from bnnbench.methods.networks.architectures import BatchNorm, Linear, ReLU
from bnnbench.methods.networks.start import Start
from tests.methods.problems import classification, images, regression, stream, streams

SMALL = Epinet(dimension=3, epochs=2, batch_size=8, draws=5)


@pytest.mark.parametrize("make", [regression, classification])
def test_without_epinet_and_priors_every_index_gives_the_base_network(make):
    problem = make()
    fitted = SMALL.fit(problem, stream(0))
    alone = replace(fitted, weights=torch.zeros_like(fitted.weights), prior_scale=0.0)
    inputs = problem.train.inputs
    expected = vars(fitted.base.predict(inputs, stream(2)))
    for name, array in vars(alone.predict(inputs, stream(1))).items():
        assert torch.equal(array, expected[name].expand_as(array))


@pytest.mark.parametrize("make", [regression, classification])
def test_an_index_gives_the_same_function_whatever_the_points(make):
    problem = make(dtype=torch.float64)
    posterior = SMALL.fit(problem, stream(0))
    inputs = make(1, POINTS_AT_ONCE + 50, dtype=torch.float64).train.inputs
    whole = vars(posterior.predict(inputs, stream(1)))
    for name, array in vars(posterior.predict(inputs[300:320], stream(1))).items():
        torch.testing.assert_close(whole[name][:, 300:320], array)
        assert name == "variances" or len(array[:, 0].unique(dim=0)) == 5


def test_the_gradient_of_a_step_is_that_of_the_mean_loss_over_indices():
    problem, method = regression(rows=8, dtype=torch.float64), replace(SMALL, learning_rate=1e-9)
    training = Training([method], [problem], streams(0))
    posterior = training.posteriors()[0]
    ((inputs, targets),) = training.stack.batches.epoch()
    beside = torch.Generator()
    beside.set_state(training.stack.streams.distinct[0].get_state())
    loss = training.step(inputs, targets)
    draws = replace(posterior, draws=method.index_draws).predict(inputs[0, :, :4], beside)
    expected = -draws.draw_log_probs(targets[0]).mean()
    torch.testing.assert_close(loss[0], expected)


def test_perturbed_targets_teach_the_index():
    def spread(method):
        posterior = method.fit(regression(rows=24), stream(0))
        return posterior.predict(regression(rows=24).train.inputs, stream(1)).means.std(0).mean()

    common = {"dimension": 1, "prior_scale": 0.0, "draws": 100}
    plain = replace(SMALL, epochs=60, batch_size=24, learning_rate=0.03, **common)
    assert spread(replace(plain, bootstrap_std=1.0)) > 2 * spread(plain)


def test_prior_networks_make_it_uncertain_away_from_the_data():
    far = 8 * torch.eye(4)
    stds = [
        replace(SMALL, prior_scale=scale, epochs=5, learning_rate=0.01, draws=100)
        .fit(regression(), stream(0))
        .predict(far, stream(1))
        .means.std(0)
        .mean()
        for scale in (0.0, 1.0)
    ]
    assert stds[1] > 2 * stds[0]


def test_it_continues_from_a_trained_network():
    problem = regression()
    weights = torch.linspace(-0.5, 0.5, 4 * 7 + 7 + 7 + 1)
    start = Start(weights, weights[:0], noise_variance=0.09)
    method = replace(SMALL, heteroscedastic=False, learning_rate=1e-9)
    posterior = method.fit(replace(problem, start=start), stream(0))
    torch.testing.assert_close(posterior.base.weights[0], weights, atol=1e-6, rtol=0)


def test_a_last_batch_of_one_row_joins_the_one_before_under_batch_norm():
    network = (Linear(5), BatchNorm(), ReLU(), Linear(1))
    posterior = SMALL.fit(regression(rows=17, architecture=network), stream(0))
    assert posterior.predict(torch.zeros(2, 4), stream(1)).means.isfinite().all()


def test_images_are_refused():
    with pytest.raises(Unsupported, match="needed vectors"):
        SMALL.fit(images(), stream(0))

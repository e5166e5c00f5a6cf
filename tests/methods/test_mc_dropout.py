"""MC dropout: one mask for all points of a draw, and the expectation over masks."""

import pytest
import torch

from bnnbench.methods.adamw import AdamW
from bnnbench.methods.fitting.network_posterior import POINTS_AT_ONCE
from bnnbench.methods.mc_dropout import McDropout, with_dropout
from bnnbench.methods.networks.architectures import (
    Dropout,
    Flatten,
    GlobalAvgPool2d,
    Linear,
    ReLU,
    Residual,
)
from tests.methods.problems import classification, images, regression, stream


def fitted(problem, rate=0.3, draws=6):
    return McDropout(rate, draws, AdamW(epochs=3, learning_rate=0.01)).fit(problem, stream(0))


def test_a_draw_is_the_same_function_at_every_point_of_every_chunk():
    posterior = fitted(regression())
    one = torch.tensor([[1.0, -1.0, 0.5, 2.0]])
    means = posterior.predict(one.expand(2 * POINTS_AT_ONCE + 100, -1), stream(1)).means
    torch.testing.assert_close(means, means[:, :1].expand_as(means), rtol=1e-5, atol=1e-6)
    assert len(means[:, 0].unique()) > 1


@pytest.mark.parametrize("make", [regression, images])
def test_masks_do_not_depend_on_which_points_are_asked(make):
    posterior = fitted(make())
    inputs = make(1, POINTS_AT_ONCE + 70).train.inputs
    whole = posterior.predict(inputs, stream(1))
    parts = [posterior.predict(part, stream(1)) for part in (inputs[:30], inputs[30:])]
    for name in vars(whole):
        halves = torch.cat([getattr(part, name) for part in parts], dim=1)
        torch.testing.assert_close(getattr(whole, name), halves, rtol=1e-4, atol=1e-5)


def test_draws_of_a_linear_network_have_the_moments_of_independent_masks():
    rate, draws = 0.3, 20_000
    posterior = fitted(regression(architecture=(Linear(1),), dtype=torch.float64), rate, draws)
    inputs = regression(1, dtype=torch.float64).train.inputs[:5]
    means = posterior.predict(inputs, stream(1)).means[:, :, 0]
    expected = posterior.trained.predict(inputs, stream(1)).means[0, :, 0]
    weights = posterior.trained.weights[0, :4]
    variance = rate / (1 - rate) * (inputs * weights).square().sum(1)
    assert ((means.mean(0) - expected) / (variance / draws).sqrt()).abs().max() < 5
    torch.testing.assert_close(means.var(0), variance, rtol=0.05, atol=0)


def test_dropout_comes_before_every_linear_layer_even_inside_branches():
    architecture = (Linear(5), ReLU(), Residual((Linear(5), ReLU())), Linear(1))
    drop = Dropout(0.2)
    assert with_dropout(architecture, 0.2) == (
        *(drop, Linear(5), ReLU()),
        Residual((drop, Linear(5), ReLU())),
        *(drop, Linear(1)),
    )


def test_a_linear_layer_that_has_dropout_gets_no_more():
    drop = Dropout(0.2)
    architecture = (drop, Linear(5), ReLU(), Linear(1))
    dropped = with_dropout(architecture, 0.2)
    assert dropped == (drop, Linear(5), ReLU(), drop, Linear(1))
    assert with_dropout(dropped, 0.2) == dropped
    posterior = fitted(regression(architecture=dropped))
    means = posterior.predict(regression().train.inputs, stream(1)).means
    assert not torch.equal(means[0], means[1])


def test_a_network_without_linear_layers_is_refused():
    problem = classification(shape=(3, 2, 2), architecture=(GlobalAvgPool2d(), Flatten()))
    with pytest.raises(ValueError, match="linear layer"):
        McDropout().fit(problem, stream(0))


def test_masks_differ_between_streams_and_draws():
    posterior = fitted(regression(), draws=8)
    inputs = regression().train.inputs
    one, other = (posterior.predict(inputs, stream(seed)).means for seed in (1, 2))
    assert not torch.equal(one, other)
    assert len(torch.cat([one, other]).unique(dim=0)) > 8

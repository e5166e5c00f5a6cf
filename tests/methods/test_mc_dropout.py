"""MC dropout: one mask for all points of a draw, and the expectation over masks."""

from dataclasses import replace

import pytest
import torch

from bnnbench.methods.adamw import AdamW
from bnnbench.methods.fitting.network_posterior import POINTS_AT_ONCE
from bnnbench.methods.mc_dropout import McDropout, McDropoutPosterior, with_dropout
from bnnbench.methods.networks.architectures import (
    Conv2d,
    Dropout,
    Flatten,
    GlobalAvgPool2d,
    Linear,
    ReLU,
    Residual,
)
from tests.methods.problems import classification, images, regression, stream


def fitted(problem, rate=0.3, draws=6, where="hidden"):
    training = AdamW(epochs=3, learning_rate=0.01)
    return McDropout(rate, draws, training, where).fit(problem, stream(0))


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
    problem = regression(architecture=(Linear(1),), dtype=torch.float64)
    posterior = fitted(problem, rate, draws, "every")
    inputs = regression(1, dtype=torch.float64).train.inputs[:5]
    means = posterior.predict(inputs, stream(1)).means[:, :, 0]
    expected = posterior.trained.predict(inputs, stream(1)).means[0, :, 0]
    weights = posterior.trained.weights[0, :4]
    variance = rate / (1 - rate) * (inputs * weights).square().sum(1)
    assert ((means.mean(0) - expected) / (variance / draws).sqrt()).abs().max() < 5
    torch.testing.assert_close(means.var(0), variance, rtol=0.05, atol=0)


DROP = Dropout(0.2)


@pytest.mark.parametrize(
    ("architecture", "hidden"),
    [
        (
            (Linear(5), ReLU(), Residual((Linear(5), ReLU())), Linear(1)),
            (Linear(5), ReLU(), Residual((DROP, Linear(5), ReLU())), DROP, Linear(1)),
        ),
        (
            (Flatten(), Linear(5), ReLU(), Linear(1)),
            (Flatten(), Linear(5), ReLU(), DROP, Linear(1)),
        ),
        (
            (Conv2d(2, kernel=3), ReLU(), Flatten(), Linear(3)),
            (Conv2d(2, kernel=3), ReLU(), Flatten(), DROP, Linear(3)),
        ),
        (
            (Residual((Linear(4), ReLU(), Linear(4))), Linear(1)),
            (Residual((Linear(4), ReLU(), DROP, Linear(4))), DROP, Linear(1)),
        ),
    ],
)
def test_hidden_dropout_leaves_alone_what_reads_the_inputs(architecture, hidden):
    assert with_dropout(architecture, 0.2, "hidden") == hidden


def test_dropout_everywhere_comes_before_every_linear_layer_even_inside_branches():
    architecture = (Linear(5), ReLU(), Residual((Linear(5), ReLU())), Linear(1))
    assert with_dropout(architecture, 0.2, "every") == (
        *(DROP, Linear(5), ReLU()),
        Residual((DROP, Linear(5), ReLU())),
        *(DROP, Linear(1)),
    )


@pytest.mark.parametrize(("where", "sees_inputs"), [("hidden", 1.0), ("every", 0.7)])
def test_no_draw_loses_an_input_where_hidden_units_alone_are_dropped(where, sees_inputs):
    """Only the first input matters, through one ReLU unit: a draw of 0 has lost either."""
    problem = regression(architecture=(Linear(1, bias=False), ReLU(), Linear(1, bias=False)))
    rate, draws = 0.3, 20_000
    trained = fitted(problem, rate, draws, where).trained
    weights = torch.tensor([[1.0, 0.0, 0.0, 0.0, 1.0]])
    posterior = McDropoutPosterior(replace(trained, weights=weights), draws)
    means = posterior.predict(torch.ones(1, 4), stream(1)).means[:, 0, 0]
    share = float((means != 0).double().mean())
    expected = sees_inputs * (1 - rate)
    assert abs(share - expected) < 5 * (expected * (1 - expected) / draws) ** 0.5


@pytest.mark.parametrize("where", ["hidden", "every"])
def test_a_linear_layer_that_has_dropout_gets_no_more(where):
    architecture = (DROP, Linear(5), ReLU(), Linear(1))
    dropped = with_dropout(architecture, 0.2, where)
    assert dropped == (DROP, Linear(5), ReLU(), DROP, Linear(1))
    assert with_dropout(dropped, 0.2, where) == dropped
    posterior = fitted(regression(architecture=dropped), where=where)
    means = posterior.predict(regression().train.inputs, stream(1)).means
    assert not torch.equal(means[0], means[1])


def test_a_linear_model_has_no_hidden_units_to_drop():
    with pytest.raises(ValueError, match="behind another layer"):
        fitted(regression(architecture=(Linear(1),)))


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

"""Fits in function space and in weight space, and their effect on predictions."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from bnnbench.datasets.base import Categorical, Split
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import Problem, Unsupported
from bnnbench.methods.function_space.index_sets import Grid, TrainingData
from bnnbench.methods.function_space.method import FunctionSpace, WeightSpace
from bnnbench.methods.function_space.models import Dropout, Map, MeanField, Members
from bnnbench.methods.function_space.objective import DirichletPrior
from bnnbench.methods.function_space.radial import Radial
from bnnbench.methods.function_space.rank1 import Rank1
from bnnbench.methods.networks.architectures import BatchNorm, Linear, ReLU
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.sgd import Sgd
from bnnbench.metrics.uncertainty import entropy
from tests.methods.problems import classification, regression, stream, streams

MODELS = (Map(), Members(3), Dropout(0.1), Dropout(0.1, masks=2), MeanField(), Radial(), Rank1(2))
SHORT = AdamW(learning_rate=1e-2, weight_decay=0.0, epochs=2, batch_size=16)
LONG = AdamW(learning_rate=3e-2, weight_decay=0.0, epochs=60, batch_size=40, schedule="constant")


def line(rows=40):
    """Return two classes left and right of 0, between -1 and 1."""
    x = torch.linspace(-1, 1, rows)[:, None]
    return Problem(Split(x, (x[:, 0] > 0).long()), Categorical(2), mlp([20], 2))


def probabilities(posterior: Any, inputs):
    return posterior.predict(inputs, stream(5)).mixture_log_probs.exp()


FAR = torch.tensor([[-5.0], [5.0]])


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("space", [FunctionSpace, WeightSpace])
def test_every_model_learns_the_classes(space, model):
    problem = line()
    posterior = space(model, training=LONG).fit(problem, stream(0))
    inner = problem.train.inputs.abs()[:, 0] > 0.2
    correct = probabilities(posterior, problem.train.inputs).argmax(1) == problem.train.targets
    assert correct[inner].all()


@pytest.mark.parametrize("model", [Map(), Members(3), Dropout(0.1)], ids=repr)
def test_a_prior_on_functions_keeps_doubt_where_there_are_no_data(model):
    index = (Grid((-6.0,), (6.0,), 0.25),)
    posterior: Any = FunctionSpace(model, index, kl_weight=20.0, training=LONG).fit(
        line(), stream(0)
    )
    plain: Any = WeightSpace(model, training=LONG).fit(line(), stream(0))
    with_prior, without = (entropy(one.predict(FAR, stream(5))) for one in (posterior, plain))
    assert (with_prior > 0.5).all()
    assert (without < 0.3).all()


def test_a_biased_prior_decides_where_there_are_no_data():
    index = (Grid((-6.0,), (6.0,), 0.25),)
    for favoured, prior in enumerate([(9.0, 1.0), (1.0, 9.0)]):
        method = FunctionSpace(Map(), index, prior, kl_weight=20.0, training=LONG)
        far = probabilities(method.fit(line(), stream(0)), FAR)
        assert (far[:, favoured] > 0.5).all()


def test_no_weight_leaves_the_likelihood_alone():
    free = FunctionSpace(Map(), kl_weight=0.0, training=SHORT).fit(classification(), stream(0))
    plain = WeightSpace(Map(), training=SHORT).fit(classification(), stream(0))
    inputs = classification().train.inputs
    assert torch.equal(probabilities(free, inputs), probabilities(plain, inputs))


def test_weight_space_of_a_point_is_the_descent_it_is_trained_by():
    """The loss in float64 differs only by rounding."""
    problem = classification(dtype=torch.float64)
    ours = WeightSpace(Map(), training=SHORT).fit(problem, stream(0))
    theirs = SHORT.fit(problem, stream(0))
    inputs = problem.train.inputs
    torch.testing.assert_close(probabilities(ours, inputs), probabilities(theirs, inputs))


def test_the_divergence_among_the_diagnostics_agrees_with_the_fit():
    """One step of size 0: the divergence is the initial weights'."""
    problem = classification(rows=12)
    still = Sgd(learning_rate=1e-30, epochs=1, batch_size=12)
    posterior = FunctionSpace(Map(), training=still).fit(problem, stream(0))
    log_probs = posterior.predict(problem.train.inputs, stream(1)).log_probs
    expected = DirichletPrior.of(problem, None).divergence(log_probs.double().unsqueeze(1))
    assert posterior.diagnostics["divergence"] == pytest.approx(float(expected), rel=1e-5)


def test_predictions_have_as_many_draws_as_promised():
    inputs = classification().train.inputs
    for model, draws in ((Members(4), 4), (Rank1(3, draws=2), 6), (Radial(draws=5), 5)):
        posterior = FunctionSpace(model, training=SHORT).fit(classification(), stream(0))
        prediction = posterior.predict(inputs, stream(1))
        assert prediction.log_probs.shape[0] == draws


@pytest.mark.parametrize("rows", [16, 17, 31])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_the_size_of_the_last_batch_does_not_couple_problems(model, rows):
    method = FunctionSpace(model, training=replace(SHORT, batch_size=8))
    problems = [classification(seed, rows) for seed in range(3)]
    together = method.fit_many(problems, streams(10, 11, 12))
    alone = method.fit(problems[1], stream(11))
    inputs = problems[1].train.inputs
    assert torch.equal(probabilities(together[1], inputs), probabilities(alone, inputs))


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_batch_norm_keeps_running_statistics_of_the_training_batch_alone(model):
    """Index points are far away, so that they would show in the statistics."""
    architecture = (Linear(6), BatchNorm(), ReLU(), Linear(3))
    problem = replace(classification(rows=64), architecture=architecture)
    index = (TrainingData(), Grid((50.0,) * 4, (60.0,) * 4, 10.0))
    method = FunctionSpace(model, index, training=replace(SHORT, epochs=30, learning_rate=1e-3))
    posterior = method.fit(problem, stream(0))
    inner: Any = getattr(posterior, "trained", None) or getattr(posterior, "at_mean", posterior)
    means = inner.buffers[:, :6]
    assert (means.abs() < 3).all()
    assert (means != 0).all()


@pytest.mark.parametrize("space", [FunctionSpace, WeightSpace])
def test_a_regression_is_refused(space):
    with pytest.raises(Unsupported, match="needed a classifier"):
        space().fit(regression(), stream(0))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"index": ()}, "needs an index set"),
        ({"prior": (1.0, 0.0)}, "concentrations above 0"),
        ({"kl_weight": -1.0}, "kl_weight"),
    ],
)
def test_settings_without_sense_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        FunctionSpace(**settings)


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        (Members, {"size": 0}),
        (Dropout, {"rate": 1.0}),
        (Dropout, {"masks": 0}),
        (MeanField, {"prior_std": 0.0}),
        (Radial, {"draws": 0}),
        (Rank1, {"weight_decay": -1.0}),
    ],
)
def test_models_without_sense_are_refused(model, settings):
    (name,) = settings
    with pytest.raises(ValueError, match=name):
        model(**settings)

"""NGBoost and CatBoost: their equations, their packages, and the stop by held-out rows."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from bnnbench.datasets.base import Categorical, Split
from bnnbench.methods.base import PackageMissing, Unsupported
from bnnbench.methods.trees.catboost import CatBoost
from bnnbench.methods.trees.catboost_arrays import trees_of
from bnnbench.methods.trees.natural_gradient import loss, natural_gradient, step_size
from bnnbench.methods.trees.ngboost import NgBoost
from bnnbench.methods.trees.rounds import Growth, as_arrays
from tests.methods.problems import classification, images, regression, stream

POINTS = torch.randn(20, 4, generator=stream(8), dtype=torch.float64)
NGBOOST = NgBoost(learning_rate=0.1, most_trees=40, patience=5)
CATBOOST = CatBoost(learning_rate=0.2, depth=3, most_trees=40, patience=5)


def test_the_natural_gradient_is_that_of_a_known_case():
    params, targets = np.array([[1.0, np.log(2.0)]]), np.array([4.0])
    assert natural_gradient(params, targets)[0].tolist() == pytest.approx([-3, -0.625])
    slope = [
        (loss(params + step, targets) - loss(params - step, targets)) / 2e-6
        for step in 1e-6 * np.eye(2)
    ]
    # Fisher's information is 1 / sigma² for the mean, and 2 for the log deviation.
    assert slope == pytest.approx([-0.75, -1.25], abs=1e-6)
    assert natural_gradient(params, targets)[0].tolist() == pytest.approx(
        [4 * slope[0], slope[1] / 2], abs=1e-6
    )


def test_rounds_are_those_of_the_package():
    """Locations, scales and loss of ngboost 0.6.0 after 40 rounds, at six of the training rows."""
    row = np.arange(60)
    inputs = np.stack([np.sin(1 + row * row), np.cos(3 * row)], 1)
    noise = 0.3 * np.sin(17.3 * row) * (1 + inputs[:, 1])
    targets = inputs[:, 0] + inputs[:, 1] ** 2 + noise
    start = np.tile([targets.mean(), np.log(targets.std())], (60, 1))
    growth = Growth(inputs.astype(np.float32), targets, start)
    for _ in range(40):
        before = loss(growth.params, targets)
        growth.grow(NGBOOST, 0)
    assert before == pytest.approx(-1.4359698128279414, abs=1e-9)
    means = [1.83586432, 1.86777952, -0.0837805, 0.26443925, -0.15650227, 1.27877168]
    scales = [0.04927317, 0.05415213, 0.04945888, 0.06233162, 0.0943861, 0.03709111]
    assert growth.params[:6, 0].tolist() == pytest.approx(means, abs=1e-7)
    assert np.exp(growth.params[:6, 1]).tolist() == pytest.approx(scales, abs=1e-7)
    trees = as_arrays(growth.rounds, NGBOOST.depth)
    found = start[0] + trees(torch.from_numpy(inputs)).numpy()
    np.testing.assert_allclose(found, growth.params, atol=1e-12)


def test_a_step_lessens_the_loss():
    rng = np.random.default_rng(0)
    params, targets = rng.normal(size=(30, 2)), rng.normal(size=30)
    gradient = natural_gradient(params, targets)
    step = step_size(params, gradient, targets)
    assert loss(params - step * gradient, targets) < loss(params, targets)


@pytest.mark.parametrize("method", [NGBOOST, CATBOOST], ids=lambda one: one.label)
def test_deviations_are_those_of_noise_that_depends_on_the_input(method):
    pytest.importorskip(getattr(method, "library", "sklearn"))
    rng = stream(3)
    inputs = torch.randn(1200, 4, generator=rng, dtype=torch.float64)
    stds = torch.where(inputs[:, :1] > 0, 1.0, 0.2)
    targets = inputs[:, 1:2] + stds * torch.randn(1200, 1, generator=rng, dtype=torch.float64)
    train, new = (Split(inputs[part], targets[part]) for part in (slice(800), slice(800, None)))
    posterior = method.fit(replace(regression(), train=train), stream(1))
    found = posterior.predict(new.inputs, stream(2))
    for side, std in ((new.inputs[:, 0] > 0, 1.0), (new.inputs[:, 0] <= 0, 0.2)):
        assert float(found.variance[side].sqrt().median()) == pytest.approx(std, rel=0.35)
    z = (new.targets - found.mean) / found.variance.sqrt()
    assert float((z.abs() < 1.645).double().mean()) == pytest.approx(0.9, abs=0.08)


@pytest.mark.parametrize("method", [NGBOOST, CATBOOST], ids=lambda one: one.label)
def test_targets_without_information_get_their_own_distribution(method):
    pytest.importorskip(getattr(method, "library", "sklearn"))
    problem = regression(rows=200, dtype=torch.float64)
    noise = torch.randn(200, 1, generator=stream(5), dtype=torch.float64)
    pure = replace(problem, train=Split(problem.train.inputs, noise))
    posterior = method.fit(pure, stream(1))
    assert posterior.diagnostics["rounds"] <= 10
    assert float(posterior.predict(POINTS, stream(2)).variance.mean()) == pytest.approx(1, abs=0.3)


@pytest.mark.parametrize("method", [NGBOOST, CATBOOST], ids=lambda one: one.label)
def test_units_of_the_target_are_those_of_the_prediction(method):
    pytest.importorskip(getattr(method, "library", "sklearn"))
    problem = regression(rows=60, dtype=torch.float64)
    large = replace(problem, train=Split(problem.train.inputs, 1024 * problem.train.targets))
    fits = [method.fit(each, stream(1)) for each in (problem, large)]
    one, other = (fit.predict(POINTS, stream(2)) for fit in fits)
    torch.testing.assert_close(other.mean, 1024 * one.mean, rtol=1e-5, atol=1e-3)
    torch.testing.assert_close(other.variance, 2.0**20 * one.variance, rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("method", [NGBOOST, CATBOOST], ids=lambda one: one.label)
def test_a_constant_target_has_a_positive_variance(method):
    pytest.importorskip(getattr(method, "library", "sklearn"))
    problem = regression(rows=40, dtype=torch.float64)
    constant = Split(problem.train.inputs, torch.full((40, 1), 2.0, dtype=torch.float64))
    found = method.fit(replace(problem, train=constant), stream(1)).predict(POINTS, stream(2))
    np.testing.assert_allclose(found.mean, 2.0, atol=1e-6)
    assert (found.variance > 0).all()


def test_catboosts_trees_predict_as_the_package_does():
    """The package states a mean and a variance, whose raw second output is a log deviation."""
    catboost = pytest.importorskip("catboost")
    inputs = regression(rows=200, dtype=torch.float64).train.inputs.numpy()
    targets = inputs[:, 0] + 0.3 * np.sin(40 * inputs[:, 1])
    settings = {"iterations": 20, "depth": 4, "thread_count": 1, "allow_writing_files": False}
    model = catboost.CatBoostRegressor(
        loss_function="RMSEWithUncertainty", verbose=False, **settings
    ).fit(inputs, targets)
    trees, start = trees_of(model)
    found = start + trees(POINTS)
    known = model.predict(POINTS.numpy(), prediction_type="RMSEWithUncertainty")
    np.testing.assert_allclose(found[:, 0], known[:, 0], atol=1e-12)
    np.testing.assert_allclose((2 * found[:, 1]).exp(), known[:, 1], rtol=1e-9)
    labels = np.digitize(targets, [-0.5, 0.5])
    classifier = catboost.CatBoostClassifier(loss_function="MultiClass", verbose=False, **settings)
    trees, start = trees_of(classifier.fit(inputs, labels))
    known = classifier.predict_proba(POINTS.numpy())
    np.testing.assert_allclose((start + trees(POINTS)).softmax(1), known, atol=1e-12)


@pytest.mark.parametrize("seen", [[0] * 22, [0] * 21 + [2], [0, 2] * 11])
def test_catboost_has_a_probability_for_classes_that_no_row_has(seen):
    pytest.importorskip("catboost")
    problem = classification(rows=22, dtype=torch.float64)
    rows = replace(problem, train=Split(problem.train.inputs, torch.tensor(seen)))
    found = CATBOOST.fit(replace(rows, likelihood=Categorical(3)), stream(1))
    probs = found.predict(POINTS, stream(2)).mixture_log_probs.exp()
    np.testing.assert_allclose(probs[:, 1], 1 / 23 / 3)
    np.testing.assert_allclose(probs.sum(1), 1)


def test_what_cannot_be_fitted_is_refused_with_the_cure(monkeypatch):
    with pytest.raises(Unsupported, match="NgBoost needed a regression"):
        NGBOOST.fit(classification(), stream(1))
    problem = images(real=True)
    twice = Split(problem.train.inputs, problem.train.targets.repeat(1, 2))
    with pytest.raises(Unsupported, match="NgBoost needed one target; got 2"):
        NGBOOST.fit(replace(problem, train=twice), stream(1))
    monkeypatch.setitem(sys.modules, "catboost", None)
    with pytest.raises(PackageMissing, match=r"pip install bnnbench\[boosting\]"):
        CATBOOST.fit(regression(), stream(1))


def test_equal_inputs_are_refused_by_catboost():
    pytest.importorskip("catboost")
    problem = regression()
    equal = Split(torch.ones_like(problem.train.inputs), problem.train.targets)
    with pytest.raises(Unsupported, match="needed rows whose inputs differ"):
        CATBOOST.fit(replace(problem, train=equal), stream(1))


def test_a_round_of_many_rows_grows_from_some_of_them_drawn_anew():
    growth = Growth.of(regression(rows=50, dtype=torch.float64), NGBOOST)
    method = replace(NGBOOST, rows_per_tree=20)
    for _ in range(2):
        growth.grow(method, 0)
    counts = [tree.tree_.n_node_samples[0] for _, pair in growth.rounds for tree in pair]
    assert counts == [20] * 4
    roots = [pair[0].tree_.value[0] for _, pair in growth.rounds]
    assert roots[0] != roots[1]
    posterior = method.fit(regression(rows=50), stream(1))
    again = method.fit(regression(rows=50), stream(1))
    found = [fit.predict(POINTS, stream(2)).means for fit in (posterior, again)]
    assert torch.equal(*found)

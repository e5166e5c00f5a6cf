"""scikit-learn's methods, compared with formulas and with its own predictions."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from bnnbench.datasets.base import Categorical, Gaussian, Split
from bnnbench.methods.base import Unsupported
from bnnbench.methods.libraries.sklearn_boosting import SklearnBoosting
from bnnbench.methods.libraries.sklearn_forest import SklearnForest
from bnnbench.methods.libraries.sklearn_gp import SklearnGp
from bnnbench.methods.libraries.sklearn_ridge import SklearnRidge
from bnnbench.methods.post_hoc.conformal import Conformal
from bnnbench.methods.post_hoc.tempered import Tempered
from bnnbench.methods.tuning.method import Tuned
from bnnbench.suites.check.problems import classification, images, regression, stream

POINTS = torch.randn(20, 4, generator=stream(8), dtype=torch.float64)


def predicted(method: Any, problem: Any, points: torch.Tensor = POINTS) -> tuple[Any, Any]:
    posterior = method.fit(problem, stream(1))
    return posterior, posterior.predict(points, stream(2))


def test_a_forests_mean_is_scikit_learns_and_its_variance_that_of_rows_in_leaves():
    problem = regression(rows=80, dtype=torch.float64)
    posterior, found = predicted(SklearnForest(trees=15, least_rows=4), problem)
    forest = posterior.forest
    assert found.mean[:, 0].numpy() == pytest.approx(forest.predict(POINTS.numpy()), rel=1e-12)
    inputs, targets = problem.train.inputs.numpy(), problem.train.targets.numpy()[:, 0]
    for number, tree in enumerate(forest.estimators_):
        drawn = np.random.RandomState(tree.random_state).randint(0, len(inputs), len(inputs))
        leaf = tree.apply(POINTS[:1].numpy())[0]
        inside = targets[drawn[tree.apply(inputs[drawn]) == leaf]]
        assert len(inside) >= 4
        variance = max(float(inside.var()), 0.01)
        assert float(found.variances[number, 0, 0]) == pytest.approx(variance, rel=1e-9)


def test_a_class_that_no_row_has_is_unlikely_and_not_impossible():
    problem = classification(rows=60, dtype=torch.float64)
    two = problem.train.targets.clamp_max(1)
    problem = replace(problem, train=Split(problem.train.inputs, two))
    for method in (SklearnForest(trees=5), SklearnBoosting(trees=5), SklearnGp()):
        posterior, found = predicted(method, problem)
        probs = found.mixture_log_probs.exp()
        assert probs[:, 2].numpy() == pytest.approx(np.full(20, 1 / 61 / 3), rel=1e-9)
        estimator = getattr(posterior, "forest", None) or posterior.estimator
        own = estimator.predict_proba(POINTS.numpy()) * 60 / 61 + 1 / 61 / 3
        assert probs[:, :2].numpy() == pytest.approx(own, rel=1e-9)


def test_quantiles_cover_their_shares_of_new_rows():
    """A line with Gaussian noise of known deviation, so that its quantiles are known everywhere."""
    rows = regression(rows=4000, true_std=0.5, dtype=torch.float64)
    levels = (0.1, 0.5, 0.9)
    new = regression(1, 4000, true_std=0.5, dtype=torch.float64).train
    # More trees follow the noise of training rows, and cover fewer new rows.
    _, found = predicted(SklearnBoosting(trees=40, levels=levels), rows, new.inputs)
    below = (new.targets[:, :, None] <= found.values).double().mean((0, 1))
    assert below.numpy() == pytest.approx(levels, abs=0.03)
    width = float((found.values[:, 0, 2] - found.values[:, 0, 0]).mean())
    assert width == pytest.approx(2 * 1.2816 * 0.5, rel=0.1)


def test_quantiles_that_cross_are_sorted():
    _, found = predicted(SklearnBoosting(trees=60), regression(rows=30, dtype=torch.float64))
    assert (found.values.diff(dim=2) >= 0).all()


def test_a_gaussian_process_takes_a_stated_noise():
    problem = regression(rows=30, dtype=torch.float64)
    posterior, _ = predicted(SklearnGp(), replace(problem, likelihood=Gaussian(0.7)))
    assert posterior.diagnostics["noise_std"] == pytest.approx(0.7)


def test_ridge_is_the_conjugate_posterior_at_its_precisions():
    problem = regression(rows=40, dtype=torch.float64)
    posterior, found = predicted(SklearnRidge(), problem)
    noise = posterior.diagnostics["noise_std"] ** -2
    prior = posterior.diagnostics["prior_precision"]
    inputs, targets = problem.train.inputs.numpy(), problem.train.targets.numpy()[:, 0]
    centred, middle = inputs - inputs.mean(0), targets.mean()
    covariance = np.linalg.inv(noise * centred.T @ centred + prior * np.eye(4))
    at = POINTS.numpy() - inputs.mean(0)
    mean = middle + at @ (noise * covariance @ centred.T @ (targets - middle))
    assert found.mean[:, 0].numpy() == pytest.approx(mean, rel=1e-9)
    variance = 1 / noise + ((at @ covariance) * at).sum(1)
    assert found.variance[:, 0].numpy() == pytest.approx(variance, rel=1e-9)


@pytest.mark.parametrize("method", [SklearnForest(trees=3), SklearnBoosting(trees=3), SklearnGp()])
def test_images_are_vectors(method):
    problem = images(dtype=torch.float64)
    _, found = predicted(method, problem, problem.train.inputs)
    assert len(found) == len(problem.train)


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (lambda: SklearnForest(trees=0), "trees to be an integer >= 1; got 0"),
        (lambda: SklearnBoosting(levels=(0.9, 0.1)), "levels that increase between 0 and 1"),
        (lambda: SklearnBoosting(levels=()), "levels that increase"),
        (lambda: SklearnGp(restarts=-1), "restarts to be an integer >= 0"),
    ],
)
def test_settings_that_mean_nothing_are_refused(method, words):
    with pytest.raises(ValueError, match=words):
        method()


def test_too_many_rows_for_a_gaussian_process_are_refused_with_the_cure():
    with pytest.raises(Unsupported, match=r"at most 20 rows; got 37\. A larger most_rows"):
        SklearnGp(most_rows=20).fit(regression(), stream(1))


def test_several_targets_are_refused_with_the_cure():
    problem = regression()
    twice = Split(problem.train.inputs, problem.train.targets.repeat(1, 2))
    for method in (SklearnForest(), SklearnBoosting(), SklearnRidge(), SklearnGp()):
        with pytest.raises(Unsupported, match="needed one target; got 2: fit one at a time"):
            method.fit(replace(problem, train=twice), stream(1))


@pytest.mark.parametrize("method", [SklearnBoosting(trees=3), SklearnGp(), SklearnForest(trees=3)])
@pytest.mark.parametrize(("classes", "seen"), [(2, 0), (2, 1), (3, 1), (1, 0)])
def test_rows_of_one_class_are_predicted_by_the_rule_of_the_mixture(method, classes, seen):
    """The class has weight 1, and all classes together the weight of a 23rd row."""
    problem = classification(rows=22)
    rows = Split(problem.train.inputs, torch.full((22,), seen))
    one = replace(problem, train=rows, likelihood=Categorical(classes))
    _, found = predicted(method, one)
    expected = np.full(classes, 1 / classes / 23)
    expected[seen] += 22 / 23
    assert found.mixture_log_probs.exp().numpy() == pytest.approx(np.tile(expected, (20, 1)))


@pytest.mark.parametrize("around", [Tempered, Conformal, Tuned])
def test_a_rare_class_that_is_held_out_stops_no_wrapper(around):
    """Of 22 rows one is rare; in every block that holds it out, the others have one class."""
    problem = classification(rows=22)
    rare = torch.zeros(22, dtype=torch.long)
    rare[5] = 1
    for seed in range(4):
        inputs = torch.randn(22, 4, generator=stream(seed))
        of_two = replace(problem, train=Split(inputs, rare), likelihood=Categorical(2))
        posterior = around(SklearnBoosting(trees=2)).fit(of_two, stream(1))
        assert len(posterior.predict(inputs, stream(2))) == 22

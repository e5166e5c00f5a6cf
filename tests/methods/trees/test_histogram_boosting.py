"""Histogram boosting: its number of trees and its noise come from rows it has not seen."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.ensemble import HistGradientBoostingRegressor

from bnnbench.datasets.base import Categorical, Split
from bnnbench.methods.base import Unsupported
from bnnbench.methods.trees.histogram_boosting import HistogramBoosting
from bnnbench.methods.tuning.rows import held_out
from tests.methods.problems import classification, regression, stream

SMALL = HistogramBoosting(learning_rate=0.3, leaves=4, least_rows=5, most_trees=60, patience=5)
POINTS = torch.randn(30, 4, generator=stream(8), dtype=torch.float64)


@pytest.mark.long
def test_trees_and_variance_are_those_of_cold_fits_to_the_same_blocks():
    problem = regression(rows=100, true_std=1.5, dtype=torch.float64)
    settings = {"learning_rate": 0.3, "max_leaf_nodes": 4, "min_samples_leaf": 5}
    errors = np.zeros(30)
    for case in held_out(problem, 5):
        rows = case.problem.train
        for trees in range(1, 31):
            model = HistGradientBoostingRegressor(
                max_iter=trees, early_stopping=False, **settings
            ).fit(rows.inputs.numpy(), rows.targets.numpy()[:, 0])
            means = case.target_mean + case.target_std * model.predict(case.inputs.numpy())
            errors[trees - 1] += np.square(means - case.block.targets.numpy()[:, 0]).sum()
    best = int(errors.argmin())
    assert best < 24  # cold fits go far enough
    posterior = SMALL.fit(problem, stream(1))
    assert posterior.diagnostics["rounds"] == best + 1
    assert posterior.diagnostics["stopped"] == 1
    assert posterior.variance == pytest.approx(errors[best] / 100, rel=1e-9)
    whole = HistGradientBoostingRegressor(max_iter=best + 1, early_stopping=False, **settings)
    whole.fit(problem.train.inputs.numpy(), problem.train.targets.numpy()[:, 0])
    found = posterior.predict(POINTS, stream(2))
    np.testing.assert_allclose(found.mean[:, 0], whole.predict(POINTS.numpy()), rtol=1e-9)


def test_new_rows_are_covered_as_often_as_stated():
    problem = regression(rows=400, true_std=0.5, dtype=torch.float64)
    new = regression(1, 2000, true_std=0.5, dtype=torch.float64).train
    found = SMALL.fit(problem, stream(1)).predict(new.inputs, stream(2))
    z = (new.targets - found.mean) / found.variance.sqrt()
    assert float((z.abs() < 1.645).double().mean()) == pytest.approx(0.9, abs=0.04)


def test_a_thousand_times_the_target_is_a_thousand_times_the_prediction():
    """Rows to choose by are given, since the blocks held out depend on the rows themselves."""
    rows, other = (regression(seed, 60, dtype=torch.float64).train for seed in (0, 1))
    found = []
    for factor in (1, 1000):
        problem = replace(
            regression(),
            train=Split(rows.inputs, factor * rows.targets),
            calibration=Split(other.inputs, factor * other.targets),
        )
        found.append(
            replace(SMALL, most_trees=15).fit(problem, stream(1)).predict(POINTS, stream(2))
        )
    torch.testing.assert_close(found[1].mean, 1000 * found[0].mean, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(found[1].variance, 1e6 * found[0].variance, rtol=1e-6, atol=0)


def test_a_constant_target_has_a_positive_variance():
    problem = regression(rows=40, dtype=torch.float64)
    constant = Split(problem.train.inputs, torch.full((40, 1), 1.0, dtype=torch.float64))
    found = SMALL.fit(replace(problem, train=constant), stream(1)).predict(POINTS, stream(2))
    np.testing.assert_allclose(found.mean, 1.0)
    assert 0 < float(found.variance.max()) <= 1e-6


def test_labels_without_information_get_the_frequencies_of_classes():
    """Boosting without a stop would follow the labels, and lose against the frequencies."""
    rng = stream(3)
    inputs = torch.randn(300, 4, generator=rng, dtype=torch.float64)
    labels = (torch.rand(300, generator=rng) < 0.3).long()
    problem = replace(classification(), train=Split(inputs, labels), likelihood=Categorical(2))
    posterior = HistogramBoosting().fit(problem, stream(1))
    assert posterior.diagnostics["rounds"] <= 10
    probs = posterior.predict(POINTS, stream(2)).mixture_log_probs.exp()[:, 1]
    assert float(probs.mean()) == pytest.approx(0.3, abs=0.1)


def test_calibration_rows_take_the_place_of_held_out_rows():
    problem = regression(rows=40, dtype=torch.float64)
    other = regression(7, 30, dtype=torch.float64).train
    posterior = SMALL.fit(replace(problem, calibration=other), stream(1))
    errors = posterior.regressor.predict(other.inputs.numpy()) - other.targets.numpy()[:, 0]
    assert posterior.variance == pytest.approx(np.square(errors).mean(), rel=1e-6)


@pytest.mark.parametrize("seen", [[0] * 22, [0] * 21 + [2]])
def test_rare_and_single_classes_stop_no_fit(seen):
    problem = classification(rows=22, dtype=torch.float64)
    rows = Split(problem.train.inputs, torch.tensor(seen))
    found = SMALL.fit(replace(problem, train=rows), stream(1)).predict(POINTS, stream(2))
    probs = found.mixture_log_probs.exp()
    np.testing.assert_allclose(probs[:, 1], 1 / 23 / 3)
    assert float(probs[:, 0].mean()) > 0.9


def test_several_targets_and_too_few_rows_are_refused():
    problem = regression()
    twice = Split(problem.train.inputs, problem.train.targets.repeat(1, 2))
    with pytest.raises(Unsupported, match="needed one target; got 2"):
        SMALL.fit(replace(problem, train=twice), stream(1))
    with pytest.raises(Unsupported, match="at least 10 training rows"):
        SMALL.fit(regression(rows=6), stream(1))

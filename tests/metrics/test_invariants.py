"""Invariances of every metric in the table."""

import pytest
import torch

from bnnbench.methods.predictions import predictive
from bnnbench.methods.predictions.predictive import CategoricalPredictive, GaussianPredictive
from bnnbench.metrics import (
    CIFAR10_COSTS,
    CLASSIFICATION,
    DIRICHLET,
    DIRICHLET_OUT_OF_DISTRIBUTION,
    IMBALANCED,
    INTERVALS,
    JOINT_REGRESSION,
    METRICS,
    OUT_OF_DISTRIBUTION,
    QUANTILES,
    REGRESSION,
    SCORES_OF_TABLES,
    SETS,
    value,
)
from tests.metrics.examples import random_prediction

POINTS = 90

OF_DISTRIBUTIONS = [name for name in METRICS if name not in {"pinball", *INTERVALS, *SETS}]
"""Predictions that state levels are tested in `test_quantiles` and `test_sets`."""

OF_CLASSES = ("joint_log_loss_dyadic",)
"""Scores of classes and of real targets; these are tested with classes."""

SAMPLED = ("joint_log_loss", "joint_energy_score")
"""Scores of random batches of points."""


def _case(name: str):
    rng = torch.Generator().manual_seed(3)
    real = {*REGRESSION, *QUANTILES, *JOINT_REGRESSION, *SCORES_OF_TABLES} - {
        *CLASSIFICATION,
        *OF_CLASSES,
    }
    if name in real:
        means = torch.randn(3, POINTS, 2, generator=rng, dtype=torch.float64)
        variances = torch.rand(3, POINTS, 2, generator=rng, dtype=torch.float64) + 0.05
        target = torch.randn(POINTS, 2, generator=rng, dtype=torch.float64)
        return GaussianPredictive(means, variances), target
    outliers = name in (*OUT_OF_DISTRIBUTION, *DIRICHLET_OUT_OF_DISTRIBUTION)
    classes = 10 if name in CIFAR10_COSTS else 6
    target = torch.randint(2 if outliers else classes, (POINTS,), generator=rng)
    return random_prediction(rng, POINTS, classes, draws=3), target


def _with(prediction, change):
    return type(prediction)(*(change(tensor) for tensor in vars(prediction).values()))


@pytest.mark.parametrize("name", [name for name in OF_DISTRIBUTIONS if name not in SAMPLED])
def test_the_order_of_points_changes_no_score(name):
    prediction, target = _case(name)
    order = torch.randperm(POINTS, generator=torch.Generator().manual_seed(1))
    shuffled = _with(prediction, lambda tensor: tensor[:, order])
    expected = value(METRICS[name], prediction, target)
    assert value(METRICS[name], shuffled, target[order]) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("name", OF_DISTRIBUTIONS)
def test_the_order_of_draws_and_repeating_them_changes_no_score(name):
    prediction, target = _case(name)
    repeated = _with(prediction, lambda tensor: torch.cat([tensor.flip(0), tensor]))
    expected = value(METRICS[name], prediction, target)
    assert value(METRICS[name], repeated, target) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("name", OF_DISTRIBUTIONS)
def test_scores_are_double_precision_and_single_or_one_for_each_point(name):
    prediction, target = _case(name)
    single = _with(prediction, lambda tensor: tensor.float())
    score = METRICS[name].score(single, target)
    assert score.dtype == torch.float64
    assert tuple(score.shape) in {(), (POINTS,)}


@pytest.mark.parametrize("name", OF_DISTRIBUTIONS)
def test_scoring_leaves_predictions_and_targets_as_they_were(name):
    prediction, target = _case(name)
    if isinstance(prediction, CategoricalPredictive):
        kept = [prediction.log_probs, prediction.mixture_log_probs, prediction.expected_entropy]
    else:
        kept = [prediction.means, prediction.variances]
    before = [tensor.clone() for tensor in [*kept, target]]
    METRICS[name].score(prediction, target)
    assert all(map(torch.equal, before, [*kept, target]))


@pytest.mark.parametrize("name", sorted({*CLASSIFICATION, *IMBALANCED, *DIRICHLET}))
def test_renaming_the_classes_changes_no_classification_score(name):
    prediction, target = _case(name)
    order = torch.tensor([3, 1, 0, 5, 2, 4])
    renamed = _with(prediction, lambda tensor: tensor[..., order])
    expected = value(METRICS[name], prediction, target)
    assert value(METRICS[name], renamed, order.argsort()[target]) == pytest.approx(
        expected, rel=1e-11
    )


@pytest.mark.parametrize(
    "name", [name for name in OF_DISTRIBUTIONS if METRICS[name].unit == "target_units"]
)
def test_scores_in_target_units_grow_with_the_unit(name):
    prediction, target = _case(name)
    expected = 4 * value(METRICS[name], prediction, target)
    rescaled = prediction.rescaled(5.0, 4.0)
    assert value(METRICS[name], rescaled, 5 + 4 * target) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("name", OF_DISTRIBUTIONS)
def test_reducing_draws_in_chunks_of_points_changes_no_score(name, monkeypatch):
    prediction, target = _case(name)
    whole = value(METRICS[name], prediction, target)
    monkeypatch.setattr(predictive, "CHUNK_VALUES", 100)
    fresh = _with(_case(name)[0], torch.clone)
    assert value(METRICS[name], fresh, target) == pytest.approx(whole, rel=1e-12)

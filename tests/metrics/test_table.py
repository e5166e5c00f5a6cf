import pytest
import torch

from bnnbench.methods.predictions.predictive import CategoricalPredictive, GaussianPredictive
from bnnbench.methods.predictions.quantiles import QuantilePredictive
from bnnbench.methods.predictions.sets import IntervalPredictive
from bnnbench.metrics import (
    CIFAR10_COSTS,
    CLASSIFICATION,
    DIGIT_COSTS,
    DIRICHLET,
    DIRICHLET_OUT_OF_DISTRIBUTION,
    IMBALANCED,
    INTERVALS,
    JOINT,
    JOINT_REGRESSION,
    LISTED,
    METRICS,
    OUT_OF_DISTRIBUTION,
    QUANTILES,
    REGRESSION,
    ROBUSTNESS,
    SCORES_OF_TABLES,
    SETS,
    Metric,
    value,
)
from bnnbench.metrics.catalogue import classification, known_truth, regression
from tests.metrics.examples import random_prediction


def test_no_name_is_used_twice():
    lines = [
        metric
        for module in (classification, regression, known_truth)
        for name, group in vars(module).items()
        if name.startswith("OF_") and isinstance(group, tuple)
        for metric in group
        if isinstance(metric, Metric)
    ]
    assert len(lines) == len(LISTED) > len(METRICS) > 50


def test_every_metric_belongs_to_a_task_and_no_task_names_one_twice():
    tasks = (CLASSIFICATION, DIRICHLET, OUT_OF_DISTRIBUTION, DIRICHLET_OUT_OF_DISTRIBUTION)
    tasks = (*tasks, JOINT, JOINT_REGRESSION, CIFAR10_COSTS, DIGIT_COSTS)
    tasks = (
        *tasks,
        IMBALANCED,
        REGRESSION,
        ROBUSTNESS,
        QUANTILES,
        INTERVALS,
        SETS,
        SCORES_OF_TABLES,
    )
    assert set().union(*tasks) == set(METRICS)
    assert all(len(set(task)) == len(task) for task in tasks)


def _perfect_and_random(name: str):
    rng = torch.Generator().manual_seed(0)
    if name in (*CLASSIFICATION, *IMBALANCED, *DIRICHLET, *JOINT, *CIFAR10_COSTS, *DIGIT_COSTS):
        target = torch.randint(10, (60,), generator=rng)
        sure = torch.nn.functional.one_hot(target).log()
        perfect = CategoricalPredictive(torch.stack([sure, sure]))
        return target, perfect, random_prediction(rng, 60, 10, draws=2)
    if name in (*OUT_OF_DISTRIBUTION, *DIRICHLET_OUT_OF_DISTRIBUTION):
        target = torch.randint(2, (60,), generator=rng)
        votes = torch.stack([torch.zeros_like(target), target])
        perfect = CategoricalPredictive(torch.nn.functional.one_hot(votes).log())
        return target, perfect, random_prediction(rng, 60, 6, draws=2)
    target = torch.randn(60, 1, generator=rng, dtype=torch.float64)
    if name == "pinball":
        levels = torch.tensor([0.1, 0.5, 0.9])
        wide = torch.tensor([-1.0, 0.0, 1.0]).expand(60, 1, 3)
        perfect = QuantilePredictive(levels, target[..., None].expand(60, 1, 3))
        return target, perfect, QuantilePredictive(levels, wide)
    if name in INTERVALS:
        wide = IntervalPredictive(0.9, torch.full((60, 1), -2.0), torch.full((60, 1), 2.0))
        return target, IntervalPredictive(0.9, target, target), wide
    uncertain = GaussianPredictive(torch.zeros(2, 60, 1), torch.ones(2, 60, 1))
    perfect = GaussianPredictive(target.expand(2, 60, 1), torch.full((2, 60, 1), 1e-6))
    return target, perfect, uncertain


DIRECTED = [
    name
    for name, metric in METRICS.items()
    # Calibration is not accuracy.
    if metric.higher_is_better is not None and not name.startswith("calibration")
]


@pytest.mark.parametrize("name", DIRECTED)
def test_a_perfect_prediction_is_better_in_the_stated_direction(name):
    target, perfect, other = _perfect_and_random(name)
    best, rest = (value(METRICS[name], prediction, target) for prediction in (perfect, other))
    assert best > rest if METRICS[name].higher_is_better else best < rest

"""Steps of precision fits: counts, compared with a loop over single points."""

from collections.abc import Mapping

import numpy as np
import pytest
import torch
from scipy.special import digamma, polygamma

from bnnbench.datasets.base import Categorical, Dataset, Scaling, Split
from bnnbench.methods.predictions.dirichlet import smoothed
from bnnbench.methods.predictions.predictive import CategoricalPredictive
from bnnbench.reports.papers.published import table
from bnnbench.suites.probes.precision_steps import STATISTICS, PrecisionSteps
from bnnbench.suites.rotated_mnist import SUITES
from tests.methods.problems import stream

ROWS, CLASSES = 500, 4


def rows(count: int) -> Split:
    return Split(torch.zeros(count, 1), torch.zeros(count, dtype=torch.int64))


class Drawn:
    """A posterior with given draws."""

    diagnostics: Mapping[str, float] = {}

    def __init__(self, logits: torch.Tensor) -> None:
        self.prediction = CategoricalPredictive(logits.log_softmax(-1))

    def predict(self, inputs, rng):
        assert inputs.shape[0] == self.prediction.log_probs.shape[1]
        return self.prediction


def steps_of(draws) -> int:
    """Return the steps of one point by the paper's equations 29 to 32, in plain numbers."""
    mean, logs = draws.mean(0), np.log(draws).mean(0)
    z = (CLASSES - 1) / (2 * float((mean * (np.log(mean) - logs)).sum()))
    z = min(max(z, CLASSES), ROWS)
    for step in range(1, 101):
        first = digamma(z) - float((mean * digamma(z * mean)).sum()) + float((mean * logs).sum())
        second = polygamma(1, z) - float((mean**2 * polygamma(1, z * mean)).sum())
        inverse = 1 / z + first / (z * z * second)
        new = min(max(1 / inverse if inverse > 0 else ROWS, CLASSES), ROWS)
        if abs(new - z) <= 1e-5 * z:
            return step
        z = new
    return 100


def test_statistics_of_steps_agree_with_single_points():
    logits = 2 * torch.randn(6, 60, CLASSES, generator=stream(0), dtype=torch.float64)
    scaling = Scaling(torch.zeros(1), torch.ones(1))
    data = Dataset(rows(ROWS), rows(60), Categorical(CLASSES), "generated", scaling)
    found = PrecisionSteps().measure(Drawn(logits), data, stream(1))
    draws = smoothed(logits.softmax(-1))
    counts = torch.tensor([steps_of(draws[:, n].numpy()) for n in range(60)]).double()
    scores = {name: one.scores["iterations"] for name, one in found.items()}
    assert scores["steps_float64_mean"] == pytest.approx(counts.mean().item())
    assert scores["steps_float64_max"] == counts.max()
    assert scores["steps_float64_quantile_0.95"] == pytest.approx(counts.quantile(0.95).item())
    assert scores["steps_float32_max"] >= counts.max()
    assert len(scores) == 2 * len(STATISTICS)


def test_every_printed_statistic_is_measured():
    printed = table("003", "App F")
    names = {f"steps_float64_{statistic}" for statistic in STATISTICS}
    assert {row.condition for row in printed} == names
    labels = {label.casefold() for label in SUITES["precisions"].methods}
    assert {row.method for row in printed} <= labels

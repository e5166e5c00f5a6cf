"""What a line of the catalogue is made of: a direction, a function, a unit, a margin."""

import importlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from bnnbench.metrics.base import Margin, Metric

Score = Callable[..., Any]

LOG_PROB, MEAN, VARIANCE, CDF = ("log_prob",), ("mean",), ("variance",), ("cdf",)
MOMENTS = (*MEAN, *VARIANCE)
PROBABILITIES = ("mixture_log_probs", "log_prob")
DRAWS = (*PROBABILITIES, "expected_entropy")
DRAW_SPREAD = (*PROBABILITIES, "reverse_mutual_information")
QUANTILE_GRID = ("levels", "values")
INTERVAL = ("level", "low", "high")
CLASS_SET = ("members",)
"""Attributes of a prediction that metrics need."""

INFINITE, MINUS_INFINITE, OF_ERRORS = ("inf",), ("-inf",), ("inf", "nan")
"""Limits of scores: of a probability of 0, an unbounded interval, or no errors to average over."""

HALF_A_POINT, ONE_POINT = Margin(0.005), Margin(0.01)
"""Margins of shares: 10 of 2,000 images; a hundredth of probability, or one pair in a hundred."""
ONE_PERCENT_LIKELIER, LOG_OF_TWO_PERCENT = Margin(0.01), Margin(0.02)
"""Margins in nats: a factor of 1.01 in the probability of a label; the worth of 2 % in RMSE for
a Gaussian."""
TEN_POINTS_LIKELIER, TEN_POINTS_OF_TWO_PERCENT = Margin(0.1), Margin(0.2)
"""The same of ten points together."""
TWO_PERCENT, FIVE_PERCENT = Margin(0.02, relative=True), Margin(0.05, relative=True)
"""Margins of scores whose units differ; the larger one where a reference is itself a sample."""
FOUR_PERCENT = Margin(0.04, relative=True)
"""Margin of squared errors: 2 % of their root."""


def higher(
    name: str, score: Score, unit: str, margin: Margin | None = None, **facts: Any
) -> Metric:
    """Return a metric of which more is better; `facts` are further fields of it."""
    return Metric(name, score, unit, True, margin=margin, **facts)


def lower(name: str, score: Score, unit: str, margin: Margin | None = None, **facts: Any) -> Metric:
    """Return a metric of which less is better; `facts` are further fields of it."""
    return Metric(name, score, unit, False, margin=margin, **facts)


def neither(name: str, score: Score, unit: str, **facts: Any) -> Metric:
    """Return a diagnostic, which has no better direction; `facts` are further fields of it."""
    return Metric(name, score, unit, None, **facts)


def needing(attributes: tuple[str, ...], *metrics: Metric) -> tuple[Metric, ...]:
    """Return the metrics with these attributes of a prediction as their needs."""
    return tuple(replace(metric, needs=attributes) for metric in metrics)


def at(path: str, **options: float) -> Score:
    """Return a score that imports "module:function" of `bnnbench.metrics` when it is called."""

    def score(prediction: Any, target: Any) -> Any:
        return _imported(path)(prediction, target, **options)

    score.__name__ = path.partition(":")[2]
    return score


def of(path: str, **options: float) -> Score:
    """Return the score that applies a function to a prediction, whatever the target."""
    return lambda prediction, target: _imported(path)(prediction, **options)


def by(uncertainty: str, criterion: str) -> Score:
    """Return the score that evaluates an uncertainty by a criterion."""
    return lambda prediction, target: _imported(criterion)(
        _imported(uncertainty)(prediction), target
    )


def _imported(path: str) -> Callable[..., Any]:
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(f"bnnbench.metrics.{module}"), name)

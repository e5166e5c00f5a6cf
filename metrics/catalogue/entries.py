"""Building blocks for the catalogue of metrics.

An entry states a metric's better direction, name, function, unit and margin.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
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
"""Limits of scores: for a probability of 0, an unbounded interval, or no errors to average over."""

HALF_A_POINT, ONE_POINT = Margin(0.005), Margin(0.01)
"""Margins of shares: 10 of 2,000 images; a hundredth of probability, or one pair in a hundred."""
ONE_PERCENT_LIKELIER, LOG_OF_TWO_PERCENT = Margin(0.01), Margin(0.02)
"""Margins in nats: a factor of 1.01 in a label's probability; the equivalent of 2 % in RMSE for
a Gaussian."""
TEN_POINTS_LIKELIER, TEN_POINTS_OF_TWO_PERCENT = Margin(0.1), Margin(0.2)
"""The same margins for ten points together."""
TWO_PERCENT, FIVE_PERCENT = Margin(0.02, relative=True), Margin(0.05, relative=True)
"""Margins of scores with different units; the larger one if a reference is itself a sample."""
FOUR_PERCENT = Margin(0.04, relative=True)
"""Margin of squared errors: 2 % of their root."""


def higher(
    name: str, score: Score, unit: str, margin: Margin | None = None, **facts: Any
) -> Metric:
    """Return a metric for which higher is better; `facts` are its further fields."""
    return Metric(name, score, unit, True, margin=margin, **facts)


def lower(name: str, score: Score, unit: str, margin: Margin | None = None, **facts: Any) -> Metric:
    """Return a metric for which lower is better; `facts` are its further fields."""
    return Metric(name, score, unit, False, margin=margin, **facts)


def neither(name: str, score: Score, unit: str, **facts: Any) -> Metric:
    """Return a diagnostic without a better direction; `facts` are its further fields."""
    return Metric(name, score, unit, None, **facts)


def needing(attributes: tuple[str, ...], *metrics: Metric) -> tuple[Metric, ...]:
    """Return the metrics with these attributes of a prediction as their requirements."""
    return tuple(replace(metric, needs=attributes) for metric in metrics)


@dataclass(frozen=True)
class Imported:
    """A score computed by functions that are imported when it is called.

    The first function takes a prediction, each further one the result of the previous one. The last
    also takes the targets, if `of_targets`, and the options.
    """

    paths: tuple[str, ...]
    """Names of functions, "module:function" of `bnnbench.metrics`."""
    options: tuple[tuple[str, float], ...] = ()
    of_targets: bool = True

    def __call__(self, prediction: Any, targets: Any) -> Any:
        *earlier, last = map(_imported, self.paths)
        for function in earlier:
            prediction = function(prediction)
        given = (targets,) if self.of_targets else ()
        return last(prediction, *given, **dict(self.options))


def at(path: str, **options: float) -> Imported:
    """Return the score computed by a function of prediction and targets."""
    return Imported((path,), tuple(options.items()))


def of(path: str, **options: float) -> Imported:
    """Return the score that applies a function only to a prediction, without targets."""
    return Imported((path,), tuple(options.items()), of_targets=False)


def by(uncertainty: str, criterion: str) -> Imported:
    """Return the score that evaluates an uncertainty with a criterion."""
    return Imported((uncertainty, criterion))


def _imported(path: str) -> Callable[..., Any]:
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(f"bnnbench.metrics.{module}"), name)

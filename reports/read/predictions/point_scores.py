"""Scores of runs at each test point, computed from stored predictions; torch is imported on use."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from bnnbench.engine.records.record import Record
from bnnbench.engine.store.store import Store
from bnnbench.metrics import METRICS
from bnnbench.reports.read.merge import is_rounded
from bnnbench.reports.read.predictions.readable import predictions_of
from bnnbench.reports.read.predictions.redrawn import REDRAWN, Redrawn

Factors = tuple[Float[ndarray, " _"], ...]
"""A run's score at each point of each independent set of points; the means are the run's score."""

AtPoints = Factors | Redrawn
"""Scores at points, or, if the score is not a mean over points, on draws of the points."""

MOST_BYTES = 2**29
"""Shared equally by the scores of a benchmark's runs; conditions that exceed it have none."""

SEPARATED_BY: Mapping[str, str] = {
    "auroc_ood": "entropy",
    "auroc_ood_mutual_information": "mutual_information",
}
"""AUROC → the metric of the uncertainty that it is computed from."""

AGREEMENT = 1e-4
"""Scores at points are not used if their mean differs from the recorded score by more than this
relative amount: the predictions were then stored in less detail than they were scored."""


class KeptScores:
    """The scores at each point of a benchmark's runs, read run by run and cached.

    Rounded predictions have none: a verdict does not depend on them.
    """

    def __init__(self, store: Store, runs: Sequence[Record], first: str) -> None:
        self._store = store
        self._share = MOST_BYTES // max(1, len(runs))
        self._first = first
        self._read: dict[str, Mapping[tuple[str, str], AtPoints]] = {}

    def of(self, record: Record, condition: str, metric: str) -> AtPoints | None:
        """Return a run's scores at each point; None if its predictions do not determine them."""
        if record.key not in self._read:
            self._read[record.key] = self._scores(record)
        return self._read[record.key].get((condition, metric))

    def _scores(self, record: Record) -> dict[tuple[str, str], AtPoints]:
        rounded = is_rounded(self._store, record.key)
        predictions = {} if rounded else predictions_of(self._store, record) or {}
        scores: dict[tuple[str, str], AtPoints] = {}
        left = self._share
        for condition in sorted(predictions, key=lambda name: (name != self._first, name)):
            recorded = record.outcome.scores.get(condition, {})
            for metric, values in _by_metric(
                *predictions[condition], recorded, record.circumstances.target
            ):
                left -= 4 * (len(values) if isinstance(values, Redrawn) else sum(map(len, values)))
                if left < 0:
                    return scores
                scores[condition, metric] = values
        return scores


def _by_metric(
    prediction: Any, targets: Any, recorded: Mapping[str, float], scale: Mapping[str, Any] | None
) -> Iterator[tuple[str, AtPoints]]:
    """Yield each recorded metric with its scores at points or on draws of points, if any."""
    for name, value in recorded.items():
        metric = METRICS.get(name)
        if metric is None or metric.higher_is_better is None or not math.isfinite(value):
            continue
        given = prediction, targets
        if scale and not metric.standardised and not hasattr(prediction, "rescaled"):
            continue
        if scale and not metric.standardised:
            mean, std = float(scale["mean"]), float(scale["std"])
            given = prediction.rescaled(mean, std), mean + std * targets.double()
        try:
            if name in REDRAWN:
                drawn = REDRAWN[name](*given)
                if np.isclose(drawn.score, value, AGREEMENT, AGREEMENT * AGREEMENT):
                    yield name, drawn
                continue
            factors = factors_of(name, *given)
        except (ValueError, AttributeError):  # not available, or its targets are all of one kind
            continue
        means = [float(factor.mean()) for factor in factors]
        if factors and np.allclose(means, value, AGREEMENT, AGREEMENT * AGREEMENT):
            yield name, tuple(factor.astype(np.float32) for factor in factors)


def factors_of(name: str, prediction: Any, targets: Any) -> Factors:
    """Return a metric's scores at each point; () if it is not a mean over points.

    The root of a mean is linearised (`linearised_root`); an AUROC has placements of outliers and
    inliers (`placements`).
    """
    if name == "rmse":
        squares = (prediction.mean.double() - targets.double()).square().mean(1).numpy()
        return (linearised_root(squares),) if squares.any() else ()
    if name in SEPARATED_BY:
        uncertainty = METRICS[SEPARATED_BY[name]].score(prediction, targets)
        return placements(uncertainty.double().numpy(), targets.numpy())
    scores = METRICS[name].score(prediction, targets)
    return (scores.detach().double().numpy(),) if scores.ndim == 1 else ()


def linearised_root(squares: Float[ndarray, " points"]) -> Float[ndarray, " points"]:
    r"""Return values whose mean and spread are those of the root of the mean square.

    $$ z_n = (e_n^2 - m) / (2 \sqrt m) + \sqrt m, \quad m = \tfrac1N \sum_n e_n^2 $$
    """
    root = math.sqrt(squares.mean())
    return (squares - squares.mean()) / (2 * root) + root


def placements(scores: Float[ndarray, " points"], outlying: Int[ndarray, " points"]) -> Factors:
    """Return, for each outlier, the share of inliers below it, and for each inlier the share of
    outliers above it, ties counting half; both have the AUROC as their mean.

    Source: DeLong, DeLong and Clarke-Pearson (1988), "Comparing the areas under two or more
    correlated receiver operating characteristic curves".
    """
    inside, outside = np.sort(scores[outlying == 0]), np.sort(scores[outlying == 1])
    if not (len(inside) and len(outside)):
        return ()
    below = _rank(inside, scores[outlying == 1]) / len(inside)
    above = 1 - _rank(outside, scores[outlying == 0]) / len(outside)
    return below, above


def _rank(ordered: ndarray, values: ndarray) -> ndarray:
    """Return the number of ordered values below each value, ties counting half."""
    left, right = (np.searchsorted(ordered, values, side) for side in ("left", "right"))
    return (left + right) / 2

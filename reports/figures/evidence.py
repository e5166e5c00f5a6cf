"""Statistics of predictions for figures, gathered run by run so that memory stays bounded."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from bnnbench.datasets.conditions.condition_names import CLEAN
from bnnbench.engine.records.record import Record
from bnnbench.engine.run.packing import NotImported
from bnnbench.engine.store.store import Store
from bnnbench.methods.predictions.base import HasCdf, HasMoments, HasProbabilities, Predictive
from bnnbench.metrics.calibration import BINS, reliability_curve
from bnnbench.metrics.coverage import CALIBRATION_LEVELS, calibration_curve
from bnnbench.metrics.selective import risk_coverage_curve, squared_error_curve
from bnnbench.metrics.uncertainty import entropy
from bnnbench.reports.read.merge import is_rounded, packed_bytes

MOST_BYTES = 2**29
"""A method's figures pool runs until their predictions exceed this number of bytes on disk."""

ENTROPY_BINS = 30
FALSE_POSITIVE_RATES = np.linspace(0, 1, 101)
COVERAGES = np.linspace(0.02, 1, 50)
"""Fractions of points, the most confident first, at which the error rate is computed."""


@dataclass
class Reliability:
    """Sums over the points of each confidence bin, pooled over runs."""

    confidence: np.ndarray = field(default_factory=lambda: np.zeros(BINS))
    hits: np.ndarray = field(default_factory=lambda: np.zeros(BINS))
    count: np.ndarray = field(default_factory=lambda: np.zeros(BINS))

    def include(self, other: "Reliability") -> None:
        """Add the sums of other points."""
        self.confidence += other.confidence
        self.hits += other.hits
        self.count += other.count


@dataclass
class Separation:
    """Histograms of entropy over [0, log classes], and one ROC curve per run."""

    classes: int
    inside: np.ndarray = field(default_factory=lambda: np.zeros(ENTROPY_BINS))
    outside: np.ndarray = field(default_factory=lambda: np.zeros(ENTROPY_BINS))
    true_positive_rates: list[np.ndarray] = field(default_factory=list)

    def include(self, other: "Separation") -> None:
        """Add the points and curves of other runs."""
        self.inside += other.inside
        self.outside += other.outside
        self.true_positive_rates += other.true_positive_rates

    @property
    def roc(self) -> np.ndarray:
        """The mean curve over runs, at `FALSE_POSITIVE_RATES`."""
        return np.mean(self.true_positive_rates, axis=0)


@dataclass
class Evidence:
    """Statistics of the predictions of one method on one data set."""

    runs: int = 0
    folds: set[int] = field(default_factory=set)
    points: int = 0
    """The number of predictions under the main condition, over all runs."""
    reliability: Reliability | None = None
    separation: dict[str, Separation] = field(default_factory=dict)
    risks: list[np.ndarray] = field(default_factory=list)
    """per run, the error rate among the accepted points at each of `COVERAGES`"""
    squared_errors: list[np.ndarray] = field(default_factory=list)
    """per run, the mean squared error of the accepted points at each of `COVERAGES`"""
    observed: list[np.ndarray] = field(default_factory=list)
    """per run, the share of targets below each of `CALIBRATION_LEVELS`"""
    absent: int = 0
    """The number of completed runs without predictions in the store."""
    rounded: bool = False
    """True if predictions of some run are rounded."""
    unreadable: list[tuple[str, str]] = field(default_factory=list)
    """key and reason of runs whose predictions could not be read"""
    not_imported: list[tuple[str, str]] = field(default_factory=list)
    """key and reason of runs whose prediction class this process has not imported"""

    @property
    def distinct_points(self) -> float:
        """The number of test points over all folds, counted once for all seeds."""
        return self.points * len(self.folds) / self.runs if self.runs else 0.0

    def add(
        self,
        condition: str,
        prediction: Predictive,
        targets: torch.Tensor,
        main: str = CLEAN,
        outside: Collection[str] = (),
    ) -> None:
        """Add a run's predictions under one condition. Raises ValueError if they contain a NaN.

        `main` is the condition whose calibration is shown; under the conditions in `outside`, a
        target of 1 marks out-of-distribution data. Predictions without probabilities or a cdf are
        ignored.
        """
        self.points += len(prediction) if condition == main else 0
        if isinstance(prediction, HasProbabilities):
            if prediction.mixture_log_probs.isnan().any():
                raise ValueError(f"NaN among the predictions of {condition}")
            if condition in outside:
                classes = prediction.mixture_log_probs.shape[1]
                separation = self.separation.setdefault(condition, Separation(classes))
                _add_separation(separation, entropy(prediction).numpy(), targets.numpy())
            elif condition == main:
                self.reliability = self.reliability or Reliability()
                _add_reliability(self.reliability, prediction, targets)
                self.risks.append(risk(prediction, targets))
        elif condition == main and isinstance(prediction, HasCdf):
            curve = calibration_curve(prediction, targets)
            observed = curve.observed.numpy()
            if np.isnan(observed).any():
                raise ValueError(f"NaN among the predictions of {condition}")
            self.observed.append(observed)
            if isinstance(prediction, HasMoments):
                curve_of_errors = squared_error_curve(prediction, targets)
                self.squared_errors.append(at_coverages(curve_of_errors.risk.numpy()))

    def include(self, run: "Evidence") -> None:
        """Add the statistics of one run."""
        self.points += run.points
        if run.reliability:
            self.reliability = self.reliability or Reliability()
            self.reliability.include(run.reliability)
        for condition, separation in run.separation.items():
            empty = Separation(separation.classes)
            self.separation.setdefault(condition, empty).include(separation)
        self.risks += run.risks
        self.squared_errors += run.squared_errors
        self.observed += run.observed


def gather(
    store: Store, runs: Sequence[Record], main: str = CLEAN, outside: Collection[str] = ()
) -> Evidence:
    """Return the statistics of the predictions of a method's completed runs."""
    evidence, read = Evidence(), 0
    for record in runs:
        if record.outcome.status != "completed" or read > MOST_BYTES:
            continue
        try:
            read += packed_bytes(store, record.key)
            of_run = Evidence()
            for condition, (prediction, targets) in store.predictions(record.key).items():
                of_run.add(condition, prediction, targets, main, outside)
        except FileNotFoundError:
            evidence.absent += 1
        except NotImported as reason:
            evidence.not_imported.append((record.key, f"its figures are missing: {reason}"))
        except (OSError, ValueError, KeyError, TypeError) as error:
            evidence.unreadable.append((record.key, f"its predictions.npz is damaged: {error}"))
        else:
            evidence.include(of_run)
            evidence.runs += 1
            evidence.rounded |= is_rounded(store, record.key)
            evidence.folds.add(record.fold)
    return evidence


def levels() -> np.ndarray:
    """Return the levels at which the `observed` shares are computed."""
    return CALIBRATION_LEVELS.numpy()


def _add_reliability(
    pooled: Reliability, prediction: HasProbabilities, targets: torch.Tensor
) -> None:
    curve = reliability_curve(prediction, targets)
    count = curve.count.numpy().astype(float)
    pooled.count += count
    pooled.confidence += count * np.nan_to_num(curve.confidence.numpy())
    pooled.hits += count * np.nan_to_num(curve.accuracy.numpy())


def risk(prediction: HasProbabilities, targets: torch.Tensor) -> np.ndarray:
    """Return the error rate among the accepted (one or more) points at each of `COVERAGES`."""
    return at_coverages(risk_coverage_curve(prediction, targets).risk.numpy())


def at_coverages(risks: np.ndarray) -> np.ndarray:
    """Return the risks of k = 1, ..., N accepted points, evaluated at `COVERAGES`."""
    accepted = np.maximum(1, np.round(COVERAGES * len(risks)).astype(int))
    return risks[accepted - 1]


def _add_separation(pooled: Separation, scores: np.ndarray, outlying: np.ndarray) -> None:
    inside, outside = scores[outlying == 0], scores[outlying == 1]
    edges = np.linspace(0, np.log(pooled.classes), ENTROPY_BINS + 1)
    edges[-1] = np.inf  # rounding may raise an entropy above its maximum
    pooled.inside += np.histogram(inside, edges)[0]
    pooled.outside += np.histogram(outside, edges)[0]
    pooled.true_positive_rates.append(roc(inside, outside))


def roc(inside: np.ndarray, outside: np.ndarray) -> np.ndarray:
    """Return the true positive rate at each of `FALSE_POSITIVE_RATES`.

    Equal scores are accepted together, so the curve is straight across a tie.
    """
    thresholds = np.unique(np.concatenate([inside, outside]))[::-1]
    false = 1 - np.searchsorted(np.sort(inside), thresholds) / max(1, len(inside))
    true = 1 - np.searchsorted(np.sort(outside), thresholds) / max(1, len(outside))
    # On a vertical step, interpolation takes the last point, its top.
    return np.interp(FALSE_POSITIVE_RATES, np.append(0, false), np.append(0, true))

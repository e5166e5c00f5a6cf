"""The metrics of every table, one line each."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from torch import Tensor

from bnnbench.metrics import (
    calibration,
    coverage,
    crps,
    distances,
    divergences,
    moments,
    quantiles,
    robustness,
    scores,
    selective,
    separation,
    sets,
    uncertainty,
)
from bnnbench.metrics.base import Metric, value
from bnnbench.metrics.separation import by
from bnnbench.metrics.uncertainty import entropy, mutual_information, one_minus_confidence

__all__ = [
    "ATTACKED",
    "CLASSIFICATION",
    "DIRICHLET",
    "DIRICHLET_OUT_OF_DISTRIBUTION",
    "DISTANCES",
    "INTERVALS",
    "LISTED",
    "METRICS",
    "OUT_OF_DISTRIBUTION",
    "PROBED",
    "QUANTILES",
    "REGRESSION",
    "ROBUSTNESS",
    "SETS",
    "Metric",
    "value",
]

Score = Callable[[Any, Tensor], Tensor]


def _of(describe: Callable[[Any], Tensor]) -> Score:
    """Return the score that describes a prediction whatever the target."""
    return lambda prediction, target: describe(prediction)


def _covered(mass: float) -> Score:
    return partial(coverage.interval_coverage, mass=mass)


def _width(mass: float) -> Score:
    return _of(partial(coverage.interval_width, mass=mass))


LOG_PROB, MEAN, VARIANCE, CDF = ("log_prob",), ("mean",), ("variance",), ("cdf",)
MOMENTS = (*MEAN, *VARIANCE)
PROBABILITIES = ("mixture_log_probs", "log_prob")
DRAWS = (*PROBABILITIES, "expected_entropy")
DRAW_SPREAD = (*PROBABILITIES, "reverse_mutual_information")
QUANTILE_GRID = ("levels", "values")
INTERVAL = ("level", "low", "high")
CLASS_SET = ("members",)
"""What metrics need of a prediction, by attribute."""


def needing(answers: tuple[str, ...], *metrics: Metric) -> tuple[Metric, ...]:
    """Return the metrics as ones that need these answers of a prediction."""
    return tuple(replace(metric, needs=answers) for metric in metrics)


_TABLE = (
    *needing(
        PROBABILITIES,
        # name, score, unit, whether higher is better (None: a diagnostic)
        Metric("accuracy", scores.accuracy, "fraction", True),
        Metric("top5_accuracy", scores.top_k_accuracy, "fraction", True),
    ),
    *needing(
        LOG_PROB,
        Metric("nll", scores.log_loss, "nats", False),
        Metric("log_likelihood", scores.log_likelihood, "nats", True),
    ),
    *needing(
        PROBABILITIES,
        Metric("log_likelihood_smoothed", scores.smoothed_log_likelihood, "nats", True),
        Metric("brier", scores.brier_score, "score_sum_over_classes", False),
        Metric("ece", calibration.expected_calibration_error, "fraction", False),
        Metric(
            "ece_min_variance", calibration.minimum_variance_calibration_error, "fraction", False
        ),
        Metric("ece_paper000", calibration.simplex_calibration_error, "squared_distance", False),
        Metric("ece_adaptive", calibration.adaptive_calibration_error, "fraction", False),
        Metric("ece_classwise", calibration.classwise_calibration_error, "fraction", False),
        Metric("mce", calibration.maximum_calibration_error, "fraction", False),
        Metric("entropy", _of(entropy), "nats", None),
    ),
    *needing(
        DRAWS,
        Metric("expected_entropy", _of(uncertainty.expected_entropy), "nats", None),
        Metric("mutual_information", _of(mutual_information), "nats", None),
    ),
    *needing(
        DRAW_SPREAD,
        Metric("dirichlet_precision", _of(uncertainty.dirichlet_precision), "concentration", None),
        Metric(
            "dirichlet_mutual_information",
            _of(uncertainty.dirichlet_mutual_information),
            "nats",
            None,
        ),
    ),
    *needing(
        PROBABILITIES,
        Metric("log_odds_of_errors", robustness.mean_log_odds_of_errors, "nats", None),
        Metric("log_odds_of_errors_median", robustness.median_log_odds_of_errors, "nats", None),
        Metric("aurc", selective.aurc, "fraction", False),
        Metric("augrc", selective.augrc, "fraction", False),
        # Targets 1 are out of distribution.
        Metric("auroc_ood", by(entropy, separation.auroc), "fraction", True),
        Metric(
            "auroc_ood_confidence", by(one_minus_confidence, separation.auroc), "fraction", True
        ),
    ),
    *needing(
        DRAWS,
        Metric(
            "auroc_ood_mutual_information",
            by(mutual_information, separation.auroc),
            "fraction",
            True,
        ),
    ),
    *needing(
        DRAW_SPREAD,
        Metric(
            "auroc_ood_dirichlet_precision",
            by(uncertainty.minus_dirichlet_precision, separation.auroc),
            "fraction",
            True,
        ),
        Metric(
            "auroc_ood_dirichlet_mutual_information",
            by(uncertainty.dirichlet_mutual_information, separation.auroc),
            "fraction",
            True,
        ),
    ),
    *needing(
        PROBABILITIES,
        Metric("aupr_out", by(entropy, separation.aupr_out), "fraction", True),
        Metric("aupr_in", by(entropy, separation.aupr_in), "fraction", True),
        Metric("fpr95_in", by(entropy, separation.fpr95_in), "fraction", False),
        Metric("fpr95_out", by(entropy, separation.fpr95_out), "fraction", False),
    ),
    *needing(
        MEAN,
        Metric("rmse", scores.root_mean_squared_error, "target_units", False),
        Metric("mae", scores.absolute_error, "target_units", False),
    ),
    *needing(
        LOG_PROB,
        Metric(
            "log_likelihood_standardised", scores.log_likelihood, "nats", True, standardised=True
        ),
    ),
    *needing(
        MOMENTS,
        Metric("log_likelihood_gaussian", scores.gaussian_log_likelihood, "nats", True),
    ),
    Metric("crps", crps.crps, "target_units", False),
    Metric("picp_50", _covered(0.5), "fraction", None),
    Metric("picp_90", _covered(0.9), "fraction", None),
    Metric("picp_95", _covered(0.95), "fraction", None),
    Metric("mpiw_50", _width(0.5), "target_units", None),
    Metric("mpiw_90", _width(0.9), "target_units", None),
    Metric("mpiw_95", _width(0.95), "target_units", None),
    *needing(
        CDF,
        Metric("calibration_error", coverage.calibration_error, "sum_of_squares", False),
        Metric("calibration_mae", coverage.mean_absolute_calibration_error, "fraction", False),
    ),
    *needing(
        VARIANCE,
        Metric("sharpness", _of(coverage.sharpness), "target_units_squared", None),
        Metric("sharpness_root", _of(coverage.root_sharpness), "target_units", None),
    ),
    Metric("mae_median", coverage.absolute_error_of_median, "target_units", False),
    # At the levels that the prediction states.
    *needing(QUANTILE_GRID, Metric("pinball", quantiles.pinball_loss, "target_units", False)),
    *needing(
        INTERVAL,
        Metric("interval_coverage", sets.stated_interval_coverage, "fraction", None),
        Metric("interval_width", _of(sets.stated_interval_width), "target_units", None),
        Metric("interval_score", sets.interval_score, "target_units", False),
    ),
    *needing(
        CLASS_SET,
        Metric("set_coverage", sets.set_coverage, "fraction", None),
        Metric("set_size", _of(sets.set_size), "classes", None),
    ),
)
METRICS: Mapping[str, Metric] = {metric.name: metric for metric in _TABLE}

_DISTANCES = (
    Metric("wasserstein2", distances.wasserstein2, "target_units", False),
    Metric("kl_from_reference", distances.kl_divergence, "nats", False),
)
DISTANCES: Mapping[str, Metric] = {metric.name: metric for metric in _DISTANCES}
"""Scores of a `Tabulated` prediction beside the `Tabulated` one of a reference, not of targets."""

_PROBED = (
    Metric("eps_mu", moments.eps_mu, "reference_std", False),
    Metric("eps_sigma", moments.eps_sigma, "ratio_to_reference_std", None),  # 1 is exact
    Metric("kl_class_posterior", moments.kl_class_posterior, "nats", False),
    Metric("excluded_share", moments.excluded_share, "fraction", None),
    Metric("eps_mu_floor", moments.eps_mu_floor, "reference_std", None),
    Metric("kl_floor", moments.kl_floor, "nats", None),
    Metric("kl_to_exact", divergences.kl_to_exact, "nats", False),
    Metric("kl_from_exact", divergences.kl_from_exact, "nats", False),
    Metric("total_variation", divergences.total_variation, "fraction", False),
    Metric("logistic_error", divergences.logistic_error, "fraction", False),
    Metric("cubic_error", divergences.cubic_error, "fraction", False),
)
PROBED: Mapping[str, Metric] = {metric.name: metric for metric in _PROBED}
"""What probes measure of a posterior, not of predictions: moments beside those of samples, and
densities beside the exact ones."""

_ATTACKED = (Metric("zero_gradient", robustness.zero_gradient, "fraction", None),)
ATTACKED: Mapping[str, Metric] = {metric.name: metric for metric in _ATTACKED}
"""Scores of the gradient that an attack followed, not of predictions."""

LISTED: Mapping[str, Metric] = {**METRICS, **DISTANCES, **PROBED, **ATTACKED}
"""Whatever a table may have a column of."""

# The first four of each are what a terminal shows.
CLASSIFICATION = (
    "accuracy", "nll", "brier", "ece",
    "top5_accuracy", "log_likelihood", "ece_min_variance", "ece_paper000", "ece_adaptive",
    "ece_classwise", "mce", "entropy", "expected_entropy", "mutual_information", "aurc", "augrc",
)  # fmt: skip
ROBUSTNESS = (
    "accuracy", "nll", "log_odds_of_errors_median", "log_odds_of_errors", "ece", "entropy",
)  # fmt: skip
OUT_OF_DISTRIBUTION = (
    "auroc_ood", "aupr_out", "aupr_in", "fpr95_in",
    "fpr95_out", "auroc_ood_confidence", "auroc_ood_mutual_information",
)  # fmt: skip
DIRICHLET = ("log_likelihood_smoothed", "dirichlet_precision", "dirichlet_mutual_information")
DIRICHLET_OUT_OF_DISTRIBUTION = (
    "auroc_ood_dirichlet_precision", "auroc_ood_dirichlet_mutual_information",
)  # fmt: skip
"""By a Dirichlet fitted to the draws."""
REGRESSION = (
    "rmse", "log_likelihood", "crps", "picp_90",
    "mae", "log_likelihood_standardised", "log_likelihood_gaussian", "picp_50", "picp_95",
    "mpiw_50", "mpiw_90", "mpiw_95", "calibration_error", "calibration_mae", "sharpness",
    "sharpness_root",
)  # fmt: skip
QUANTILES = (
    "crps", "pinball", "mae_median", "picp_90",
    "mpiw_90", "picp_50", "mpiw_50", "picp_95", "mpiw_95",
)  # fmt: skip
"""What quantiles on a grid answer, where the grid has the ends of the intervals and 0.5."""
INTERVALS = ("interval_score", "interval_coverage", "interval_width")
SETS = ("set_coverage", "set_size")
"""At the one level that a prediction states."""

"""The metrics of every table, and the sets of metrics by which test conditions are scored.

Their functions are imported on use: reading only names, units and directions, as reports do, does
not import torch."""

from collections.abc import Mapping

from bnnbench.metrics.base import Margin, Metric, value
from bnnbench.metrics.catalogue.classification import OF_CLASSES, OF_DECISIONS, OF_STRANGE_INPUTS
from bnnbench.metrics.catalogue.known_truth import (
    OF_ATTACKS,
    OF_CERTIFIED,
    OF_DISTANCES,
    OF_KNOWN_FUNCTIONS,
    OF_PROBES,
)
from bnnbench.metrics.catalogue.regression import OF_BATCHES, OF_NUMBERS

__all__ = [
    "ATTACKED",
    "CERTIFIED",
    "CIFAR10_COSTS",
    "CLASSIFICATION",
    "DIGIT_COSTS",
    "DIRICHLET",
    "DIRICHLET_OUT_OF_DISTRIBUTION",
    "DISTANCES",
    "FAR",
    "IMBALANCED",
    "INTERVALS",
    "JOINT",
    "JOINT_REGRESSION",
    "LISTED",
    "METRICS",
    "OUT_OF_DISTRIBUTION",
    "PROBED",
    "QUANTILES",
    "REGRESSION",
    "ROBUSTNESS",
    "SCORES_OF_TABLES",
    "SETS",
    "Margin",
    "Metric",
    "value",
]


def _by_name(*groups: tuple[Metric, ...]) -> Mapping[str, Metric]:
    return {metric.name: metric for group in groups for metric in group}


METRICS = _by_name(OF_CLASSES, OF_STRANGE_INPUTS, OF_NUMBERS, OF_DECISIONS, OF_BATCHES)
"""Scores of predictions against targets."""

DISTANCES = _by_name(OF_DISTANCES)
"""Scores of a `Tabulated` prediction against a reference's `Tabulated` prediction."""

CERTIFIED = _by_name(OF_CERTIFIED)
"""Scores of `FunctionValues` against the `Truth` of a certified reference instead of targets.

In standardised target units; `std_ratio` and the joint scores are single numbers, the others have
one value per point. Smaller is nearer, except for `std_ratio`, where 1 is exact. No direction is
declared, because methods that approximate different posteriors are not ranked together.
"""

FAR = _by_name(OF_KNOWN_FUNCTIONS)
"""Scores against a known function far from the data, `far.KnownFunction`, instead of targets.

The scores of many networks together give the coverage of their intervals (`credible`).
"""

PROBED = _by_name(OF_PROBES)
"""Measurements by probes of a posterior: moments against samples, densities against exact ones,
and predictions against the targets' data distribution.
"""

ATTACKED = _by_name(OF_ATTACKS)
"""Scores of the gradient that an attack followed."""

LISTED: Mapping[str, Metric] = {**METRICS, **DISTANCES, **CERTIFIED, **FAR, **PROBED, **ATTACKED}
"""All metrics that may be a column of a table."""

# A terminal shows the first four of each group.
CLASSIFICATION = (
    "accuracy", "nll", "brier", "ece",
    "top5_accuracy", "log_likelihood", "ece_min_variance", "ece_paper000", "ece_adaptive",
    "ece_classwise", "mce", "entropy", "expected_entropy", "mutual_information", "aurc", "augrc",
    "cost_with_rejection",
)  # fmt: skip
IMBALANCED = (
    "nll", "balanced_accuracy", "average_precision", "accuracy",
    "ece_classwise", "brier", "ece", "log_likelihood", "entropy", "expected_entropy",
    "mutual_information", "ece_adaptive", "mce", "aurc", "augrc", "cost_with_rejection",
)  # fmt: skip
"""Scores for imbalanced classes, the most sensitive to imbalance first."""
JOINT = ("joint_log_loss", "joint_log_loss_dyadic")
JOINT_REGRESSION = (*JOINT, "joint_energy_score")
"""Scores of batches of points; they need draws that are functions of the input."""
CIFAR10_COSTS, DIGIT_COSTS = ("cost_of_kind",), ("cost_of_distance",)
"""Costs of decisions about CIFAR-10's classes, and about classes that are numbers."""
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
"""Scores of a Dirichlet fitted to the draws."""
REGRESSION = (
    "rmse", "log_likelihood", "crps", "picp_90",
    "mae", "log_likelihood_standardised", "log_likelihood_gaussian", "picp_50", "picp_95",
    "mpiw_50", "mpiw_90", "mpiw_95", "calibration_error", "calibration_mae", "sharpness",
    "sharpness_root", "aurc_squared_error", "aurc_squared_error_excess", "newsvendor_90",
    "newsvendor_10",
)  # fmt: skip
SCORES_OF_TABLES = (
    "interval_score_90", "interval_score_95", "wcrps_left", "wcrps_center", "wcrps_right", "crls",
)  # fmt: skip
"""Further scores of regression, by which public boards of tables rank."""
QUANTILES = (
    "crps", "pinball", "mae_median", "picp_90",
    "mpiw_90", "picp_50", "mpiw_50", "picp_95", "mpiw_95",
)  # fmt: skip
"""Metrics of quantiles on a grid of levels that includes the intervals' ends and 0.5."""
INTERVALS = ("interval_score", "interval_coverage", "interval_width")
SETS = ("set_coverage", "set_size")
"""Metrics at the single level that a prediction states."""

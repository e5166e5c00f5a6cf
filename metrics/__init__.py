"""The metrics of every table, one line each. Their functions are imported on use.

Reading names, units and directions alone, as reports do, does not import torch."""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from bnnbench.metrics.base import Margin, Metric, value

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
    "SETS",
    "Margin",
    "Metric",
    "value",
]

Score = Callable[..., Any]


def _at(path: str, **options: float) -> Score:
    """Return a score that imports "module:function" of this package when it is called."""

    def score(prediction: Any, target: Any) -> Any:
        return _imported(path)(prediction, target, **options)

    score.__name__ = path.partition(":")[2]
    return score


def _of(path: str, **options: float) -> Score:
    """Return the score that applies a function to a prediction, whatever the target."""
    return lambda prediction, target: _imported(path)(prediction, **options)


def _by(uncertainty: str, criterion: str) -> Score:
    """Return the score that evaluates an uncertainty by a criterion."""
    return lambda prediction, target: _imported(criterion)(
        _imported(uncertainty)(prediction), target
    )


def _imported(path: str) -> Callable[..., Any]:
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(f"bnnbench.metrics.{module}"), name)


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


def needing(attributes: tuple[str, ...], *metrics: Metric) -> tuple[Metric, ...]:
    """Return the metrics with these attributes of a prediction as their needs."""
    return tuple(replace(metric, needs=attributes) for metric in metrics)


_TABLE = (
    *needing(
        PROBABILITIES,
        # name, score, unit, whether higher is better (None: a diagnostic)
        Metric("accuracy", _at("scores:accuracy"), "fraction", True, margin=HALF_A_POINT),
        Metric(
            "balanced_accuracy",
            _at("imbalance:balanced_accuracy"),
            "fraction",
            True,
            margin=HALF_A_POINT,
        ),
        Metric(
            "average_precision",
            _at("imbalance:average_precision"),
            "fraction",
            True,
            margin=ONE_POINT,
        ),
        Metric(
            "top5_accuracy", _at("scores:top_k_accuracy"), "fraction", True, margin=HALF_A_POINT
        ),
    ),
    *needing(
        LOG_PROB,
        Metric(
            "nll",
            _at("scores:log_loss"),
            "nats",
            False,
            limits=INFINITE,
            margin=ONE_PERCENT_LIKELIER,
            margin_of_reals=LOG_OF_TWO_PERCENT,
        ),
        Metric(
            "log_likelihood",
            _at("scores:log_likelihood"),
            "nats",
            True,
            limits=MINUS_INFINITE,
            margin=ONE_PERCENT_LIKELIER,
            margin_of_reals=LOG_OF_TWO_PERCENT,
        ),
    ),
    *needing(
        PROBABILITIES,
        Metric(
            "log_likelihood_smoothed",
            _at("scores:smoothed_log_likelihood"),
            "nats",
            True,
            margin=ONE_PERCENT_LIKELIER,
        ),
        Metric(
            "brier", _at("scores:brier_score"), "score_sum_over_classes", False, margin=HALF_A_POINT
        ),
        Metric(
            "ece",
            _at("calibration:expected_calibration_error"),
            "fraction",
            False,
            margin=ONE_POINT,
        ),
        Metric(
            "ece_min_variance",
            _at("calibration:minimum_variance_calibration_error"),
            "fraction",
            False,
            margin=ONE_POINT,
        ),
        Metric(
            "ece_paper000", _at("calibration:simplex_calibration_error"), "squared_distance", False
        ),
        Metric(
            "ece_adaptive",
            _at("calibration:adaptive_calibration_error"),
            "fraction",
            False,
            margin=ONE_POINT,
        ),
        Metric(
            "ece_classwise",
            _at("calibration:classwise_calibration_error"),
            "fraction",
            False,
            margin=ONE_POINT,
        ),
        Metric(
            "mce", _at("calibration:maximum_calibration_error"), "fraction", False, margin=ONE_POINT
        ),
        Metric("entropy", _of("uncertainty:entropy"), "nats", None),
    ),
    *needing(
        DRAWS,
        Metric("expected_entropy", _of("uncertainty:expected_entropy"), "nats", None),
        Metric("mutual_information", _of("uncertainty:mutual_information"), "nats", None),
    ),
    *needing(
        DRAW_SPREAD,
        Metric(
            "dirichlet_precision", _of("uncertainty:dirichlet_precision"), "concentration", None
        ),
        Metric(
            "dirichlet_mutual_information",
            _of("uncertainty:dirichlet_mutual_information"),
            "nats",
            None,
        ),
    ),
    *needing(
        PROBABILITIES,
        Metric(
            "log_odds_of_errors",
            _at("robustness:mean_log_odds_of_errors"),
            "nats",
            None,
            limits=OF_ERRORS,
        ),
        Metric(
            "log_odds_of_errors_median",
            _at("robustness:median_log_odds_of_errors"),
            "nats",
            None,
            limits=OF_ERRORS,
        ),
        Metric("aurc", _at("selective:aurc"), "fraction", False, margin=HALF_A_POINT),
        Metric("augrc", _at("selective:augrc"), "fraction", False, margin=HALF_A_POINT),
        # Targets 1 are out of distribution.
        Metric(
            "auroc_ood",
            _by("uncertainty:entropy", "separation:auroc"),
            "fraction",
            True,
            margin=ONE_POINT,
        ),
        Metric(
            "auroc_ood_confidence",
            _by("uncertainty:one_minus_confidence", "separation:auroc"),
            "fraction",
            True,
            margin=ONE_POINT,
        ),
    ),
    *needing(
        DRAWS,
        Metric(
            "auroc_ood_mutual_information",
            _by("uncertainty:mutual_information", "separation:auroc"),
            "fraction",
            True,
            margin=ONE_POINT,
        ),
    ),
    *needing(
        DRAW_SPREAD,
        Metric(
            "auroc_ood_dirichlet_precision",
            _by("uncertainty:minus_dirichlet_precision", "separation:auroc"),
            "fraction",
            True,
            margin=ONE_POINT,
        ),
        Metric(
            "auroc_ood_dirichlet_mutual_information",
            _by("uncertainty:dirichlet_mutual_information", "separation:auroc"),
            "fraction",
            True,
            margin=ONE_POINT,
        ),
    ),
    *needing(
        PROBABILITIES,
        Metric(
            "aupr_out",
            _by("uncertainty:entropy", "separation:aupr_out"),
            "fraction",
            True,
            margin=ONE_POINT,
        ),
        Metric(
            "aupr_in",
            _by("uncertainty:entropy", "separation:aupr_in"),
            "fraction",
            True,
            margin=ONE_POINT,
        ),
        Metric("fpr95_in", _by("uncertainty:entropy", "separation:fpr95_in"), "fraction", False),
        Metric("fpr95_out", _by("uncertainty:entropy", "separation:fpr95_out"), "fraction", False),
    ),
    *needing(
        MEAN,
        Metric(
            "rmse", _at("scores:root_mean_squared_error"), "target_units", False, margin=TWO_PERCENT
        ),
        Metric("mae", _at("scores:absolute_error"), "target_units", False, margin=TWO_PERCENT),
    ),
    *needing(
        LOG_PROB,
        Metric(
            "log_likelihood_standardised",
            _at("scores:log_likelihood"),
            "nats",
            True,
            standardised=True,
            limits=MINUS_INFINITE,
            margin=LOG_OF_TWO_PERCENT,
        ),
    ),
    *needing(
        MOMENTS,
        Metric(
            "log_likelihood_gaussian",
            _at("scores:gaussian_log_likelihood"),
            "nats",
            True,
            limits=MINUS_INFINITE,
            margin=LOG_OF_TWO_PERCENT,
        ),
    ),
    Metric("crps", _at("crps:crps"), "target_units", False, margin=TWO_PERCENT),
    Metric("picp_50", _at("coverage:interval_coverage", mass=0.5), "fraction", None),
    Metric("picp_90", _at("coverage:interval_coverage", mass=0.9), "fraction", None),
    Metric("picp_95", _at("coverage:interval_coverage", mass=0.95), "fraction", None),
    Metric(
        "mpiw_50",
        _of("coverage:interval_width", mass=0.5),
        "target_units",
        None,
        limits=INFINITE,
    ),
    Metric(
        "mpiw_90",
        _of("coverage:interval_width", mass=0.9),
        "target_units",
        None,
        limits=INFINITE,
    ),
    Metric(
        "mpiw_95",
        _of("coverage:interval_width", mass=0.95),
        "target_units",
        None,
        limits=INFINITE,
    ),
    *needing(
        CDF,
        Metric("calibration_error", _at("coverage:calibration_error"), "sum_of_squares", False),
        Metric(
            "calibration_mae", _at("coverage:mean_absolute_calibration_error"), "fraction", False
        ),
    ),
    *needing(
        VARIANCE,
        Metric(
            "sharpness", _of("coverage:sharpness"), "target_units_squared", None, limits=INFINITE
        ),
        Metric(
            "sharpness_root", _of("coverage:root_sharpness"), "target_units", None, limits=INFINITE
        ),
    ),
    Metric(
        "mae_median",
        _at("coverage:absolute_error_of_median"),
        "target_units",
        False,
        margin=TWO_PERCENT,
    ),
    # At the levels that the prediction states.
    *needing(
        QUANTILE_GRID,
        Metric("pinball", _at("quantiles:pinball_loss"), "target_units", False, margin=TWO_PERCENT),
    ),
    *needing(
        INTERVAL,
        Metric("interval_coverage", _at("sets:stated_interval_coverage"), "fraction", None),
        Metric(
            "interval_width",
            _of("sets:stated_interval_width"),
            "target_units",
            None,
            limits=INFINITE,
        ),
        Metric(
            "interval_score",
            _at("sets:interval_score"),
            "target_units",
            False,
            limits=INFINITE,
            margin=TWO_PERCENT,
        ),
    ),
    *needing(
        CLASS_SET,
        Metric("set_coverage", _at("sets:set_coverage"), "fraction", None),
        Metric("set_size", _of("sets:set_size"), "classes", None),
    ),
    *needing(
        PROBABILITIES,
        Metric(
            "cost_with_rejection",
            _at("decisions:cost_with_rejection"),
            "cost",
            False,
            margin=HALF_A_POINT,
        ),
        Metric("cost_of_kind", _at("decisions:cost_of_kind"), "cost", False, margin=HALF_A_POINT),
        Metric(
            "cost_of_distance",
            _at("decisions:cost_of_distance"),
            "cost",
            False,
            margin=HALF_A_POINT,
        ),
    ),
    *needing(
        MOMENTS,
        Metric(
            "aurc_squared_error",
            _at("selective:squared_error_aurc"),
            "target_units_squared",
            False,
            margin=FOUR_PERCENT,
        ),
        Metric(
            "aurc_squared_error_excess",
            _at("selective:excess_squared_error_aurc"),
            "target_units_squared",
            False,
        ),
    ),
    Metric(
        "newsvendor_90",
        _at("decisions:newsvendor_cost", level=0.9),
        "target_units",
        False,
        limits=INFINITE,
        margin=TWO_PERCENT,
    ),
    Metric(
        "newsvendor_10",
        _at("decisions:newsvendor_cost", level=0.1),
        "target_units",
        False,
        limits=INFINITE,
        margin=TWO_PERCENT,
    ),
    # Batches of ten points: the need of draws is stated with a reason by the metrics.
    Metric(
        "joint_log_loss",
        _at("joint.log_loss:joint_log_loss"),
        "nats_per_batch",
        False,
        limits=INFINITE,
        margin=TEN_POINTS_LIKELIER,
        margin_of_reals=TEN_POINTS_OF_TWO_PERCENT,
    ),
    Metric(
        "joint_log_loss_dyadic",
        _at("joint.log_loss:dyadic_joint_log_loss"),
        "nats_per_batch",
        False,
        limits=INFINITE,
        margin=TEN_POINTS_LIKELIER,
        margin_of_reals=TEN_POINTS_OF_TWO_PERCENT,
    ),
    Metric(
        "joint_energy_score",
        _at("joint.energy_score:joint_energy_score"),
        "target_units",
        False,
        margin=TWO_PERCENT,
    ),
)
METRICS: Mapping[str, Metric] = {metric.name: metric for metric in _TABLE}

_DISTANCES = (
    Metric(
        "wasserstein2", _at("distances:wasserstein2"), "target_units", False, margin=FIVE_PERCENT
    ),
    Metric("kl_from_reference", _at("distances:kl_divergence"), "nats", False, margin=FIVE_PERCENT),
)
DISTANCES: Mapping[str, Metric] = {metric.name: metric for metric in _DISTANCES}
"""Scores of a `Tabulated` prediction against the `Tabulated` one of a reference, not against
targets.
"""

_CERTIFIED = (
    Metric("kl_from_truth", _at("functions.marginals:kl_from_truth"), "nats", None),
    Metric("w2_relative", _at("functions.marginals:w2_relative"), "reference_std", None),
    Metric("mean_error", _at("functions.marginals:mean_error"), "reference_std", None),
    Metric("std_ratio", _at("functions.marginals:std_ratio"), "ratio_to_reference_std", None),
    Metric("joint_kl_5", _at("functions.joints:joint_kl"), "nats", None),
    Metric("correlation_error", _at("functions.joints:correlation_error"), "correlation", None),
    Metric("sliced_w2", _at("functions.joints:sliced_w2"), "reference_std", None),
    Metric("energy_relative", _at("functions.marginals:energy_relative"), "reference_std", None),
    Metric(
        "total_variation_from_truth", _at("functions.marginals:total_variation"), "fraction", None
    ),
)
CERTIFIED: Mapping[str, Metric] = {metric.name: metric for metric in _CERTIFIED}
"""Scores of `FunctionValues` against the `Truth` of a certified reference, not against targets.

In standardised target units; `std_ratio` and the joint scores are numbers, the others one a point.
Less is nearer, and 1 is exact for `std_ratio`; but methods that aim at other posteriors are not
ranked together, so that no direction is declared here.
"""

_FAR = (
    Metric("cdf_at_truth_negative", _at("far:cdf_at_truth", side=-1.0), "fraction", None, True),
    Metric("cdf_at_truth_positive", _at("far:cdf_at_truth", side=1.0), "fraction", None, True),
)
FAR: Mapping[str, Metric] = {metric.name: metric for metric in _FAR}
"""Scores against a known function far from the data, `far.KnownFunction`, not against targets.

Those of many networks together give the coverage of their intervals (`credible`).
"""

_PROBED = (
    Metric("eps_mu", _at("moments:eps_mu"), "reference_std", False),
    Metric("eps_sigma", _at("moments:eps_sigma"), "ratio_to_reference_std", None),  # 1 is exact
    Metric(
        "kl_class_posterior", _at("moments:kl_class_posterior"), "nats", False, margin=FIVE_PERCENT
    ),
    Metric("excluded_share", _at("moments:excluded_share"), "fraction", None),
    Metric("eps_mu_floor", _at("moments:eps_mu_floor"), "reference_std", None),
    Metric("kl_floor", _at("moments:kl_floor"), "nats", None),
    Metric("kl_to_exact", _at("divergences:kl_to_exact"), "nats", False),
    Metric("kl_from_exact", _at("divergences:kl_from_exact"), "nats", False),
    Metric("total_variation", _at("divergences:total_variation"), "fraction", False),
    Metric("logistic_error", _at("divergences:logistic_error"), "fraction", False),
    Metric("cubic_error", _at("divergences:cubic_error"), "fraction", False),
    Metric("excess_risk", _at("oracle:excess_risk"), "nats", False),
    Metric("claimed_variance", _at("oracle:claimed_variance"), "epistemic_variance", None),
    Metric("earned_variance", _at("oracle:earned_variance"), "epistemic_variance", None),
    Metric("epistemic_rank", _at("oracle:epistemic_rank"), "correlation", True),
)
PROBED: Mapping[str, Metric] = {metric.name: metric for metric in _PROBED}
"""Measurements of probes on a posterior: moments against those of samples, densities against exact
ones, and predictions against the law of the targets.
"""

_ATTACKED = (Metric("zero_gradient", _at("robustness:zero_gradient"), "fraction", None),)
ATTACKED: Mapping[str, Metric] = {metric.name: metric for metric in _ATTACKED}
"""Scores of the gradient that an attack followed."""

LISTED: Mapping[str, Metric] = {
    **METRICS, **DISTANCES, **CERTIFIED, **FAR, **PROBED, **ATTACKED,
}  # fmt: skip
"""All metrics that may be a column of a table."""

# A terminal shows the first four of each.
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
"""Scores of classes that may be rare, those first that show it."""
JOINT = ("joint_log_loss", "joint_log_loss_dyadic")
JOINT_REGRESSION = (*JOINT, "joint_energy_score")
"""Scores of batches of points; not answered without draws that are functions of the input."""
CIFAR10_COSTS, DIGIT_COSTS = ("cost_of_kind",), ("cost_of_distance",)
"""Costs of decisions about the classes of CIFAR-10, and about classes that are numbers."""
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
QUANTILES = (
    "crps", "pinball", "mae_median", "picp_90",
    "mpiw_90", "picp_50", "mpiw_50", "picp_95", "mpiw_95",
)  # fmt: skip
"""Metrics of quantiles on a grid that has the ends of the intervals and 0.5."""
INTERVALS = ("interval_score", "interval_coverage", "interval_width")
SETS = ("set_coverage", "set_size")
"""Metrics at the one level that a prediction states."""

"""Scores of predicted classes: likelihood, calibration, imbalance, detection, decisions."""

from bnnbench.metrics.catalogue.entries import (
    CLASS_SET,
    DRAW_SPREAD,
    DRAWS,
    HALF_A_POINT,
    INFINITE,
    LOG_OF_TWO_PERCENT,
    LOG_PROB,
    MINUS_INFINITE,
    OF_ERRORS,
    ONE_PERCENT_LIKELIER,
    ONE_POINT,
    PROBABILITIES,
    at,
    by,
    higher,
    lower,
    needing,
    neither,
    of,
)

OF_CLASSES = (
    *needing(
        PROBABILITIES,
        higher("accuracy", at("scores:accuracy"), "fraction", HALF_A_POINT),
        higher("balanced_accuracy", at("imbalance:balanced_accuracy"), "fraction", HALF_A_POINT),
        higher("average_precision", at("imbalance:average_precision"), "fraction", ONE_POINT),
        higher("top5_accuracy", at("scores:top_k_accuracy"), "fraction", HALF_A_POINT),
    ),
    *needing(
        LOG_PROB,
        lower(
            "nll",
            at("scores:log_loss"),
            "nats",
            ONE_PERCENT_LIKELIER,
            limits=INFINITE,
            margin_of_reals=LOG_OF_TWO_PERCENT,
        ),
        higher(
            "log_likelihood",
            at("scores:log_likelihood"),
            "nats",
            ONE_PERCENT_LIKELIER,
            limits=MINUS_INFINITE,
            margin_of_reals=LOG_OF_TWO_PERCENT,
        ),
    ),
    *needing(
        PROBABILITIES,
        higher(
            "log_likelihood_smoothed",
            at("scores:smoothed_log_likelihood"),
            "nats",
            ONE_PERCENT_LIKELIER,
        ),
        lower("brier", at("scores:brier_score"), "score_sum_over_classes", HALF_A_POINT),
        lower("ece", at("calibration:expected_calibration_error"), "fraction", ONE_POINT),
        lower(
            "ece_min_variance",
            at("calibration:minimum_variance_calibration_error"),
            "fraction",
            ONE_POINT,
        ),
        lower("ece_paper000", at("calibration:simplex_calibration_error"), "squared_distance"),
        lower("ece_adaptive", at("calibration:adaptive_calibration_error"), "fraction", ONE_POINT),
        lower(
            "ece_classwise", at("calibration:classwise_calibration_error"), "fraction", ONE_POINT
        ),
        lower("mce", at("calibration:maximum_calibration_error"), "fraction", ONE_POINT),
        neither("entropy", of("uncertainty:entropy"), "nats"),
    ),
    *needing(
        DRAWS,
        neither("expected_entropy", of("uncertainty:expected_entropy"), "nats"),
        neither("mutual_information", of("uncertainty:mutual_information"), "nats"),
    ),
    *needing(
        DRAW_SPREAD,
        neither("dirichlet_precision", of("uncertainty:dirichlet_precision"), "concentration"),
        neither(
            "dirichlet_mutual_information", of("uncertainty:dirichlet_mutual_information"), "nats"
        ),
    ),
    *needing(
        PROBABILITIES,
        neither(
            "log_odds_of_errors", at("robustness:mean_log_odds_of_errors"), "nats", limits=OF_ERRORS
        ),
        neither(
            "log_odds_of_errors_median",
            at("robustness:median_log_odds_of_errors"),
            "nats",
            limits=OF_ERRORS,
        ),
        lower("aurc", at("selective:aurc"), "fraction", HALF_A_POINT),
        lower("augrc", at("selective:augrc"), "fraction", HALF_A_POINT),
    ),
)

# Targets 1 are out of distribution.
OF_STRANGE_INPUTS = (
    *needing(
        PROBABILITIES,
        higher("auroc_ood", by("uncertainty:entropy", "separation:auroc"), "fraction", ONE_POINT),
        higher(
            "auroc_ood_confidence",
            by("uncertainty:one_minus_confidence", "separation:auroc"),
            "fraction",
            ONE_POINT,
        ),
    ),
    *needing(
        DRAWS,
        higher(
            "auroc_ood_mutual_information",
            by("uncertainty:mutual_information", "separation:auroc"),
            "fraction",
            ONE_POINT,
        ),
    ),
    *needing(
        DRAW_SPREAD,
        higher(
            "auroc_ood_dirichlet_precision",
            by("uncertainty:minus_dirichlet_precision", "separation:auroc"),
            "fraction",
            ONE_POINT,
        ),
        higher(
            "auroc_ood_dirichlet_mutual_information",
            by("uncertainty:dirichlet_mutual_information", "separation:auroc"),
            "fraction",
            ONE_POINT,
        ),
    ),
    *needing(
        PROBABILITIES,
        higher("aupr_out", by("uncertainty:entropy", "separation:aupr_out"), "fraction", ONE_POINT),
        higher("aupr_in", by("uncertainty:entropy", "separation:aupr_in"), "fraction", ONE_POINT),
        lower("fpr95_in", by("uncertainty:entropy", "separation:fpr95_in"), "fraction"),
        lower("fpr95_out", by("uncertainty:entropy", "separation:fpr95_out"), "fraction"),
    ),
)

OF_DECISIONS = (
    *needing(
        CLASS_SET,
        neither("set_coverage", at("sets:set_coverage"), "fraction"),
        neither("set_size", of("sets:set_size"), "classes"),
    ),
    *needing(
        PROBABILITIES,
        lower("cost_with_rejection", at("decisions:cost_with_rejection"), "cost", HALF_A_POINT),
        lower("cost_of_kind", at("decisions:cost_of_kind"), "cost", HALF_A_POINT),
        lower("cost_of_distance", at("decisions:cost_of_distance"), "cost", HALF_A_POINT),
    ),
)

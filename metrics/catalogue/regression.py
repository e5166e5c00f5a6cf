"""Scores of predicted numbers, and of batches of points."""

from bnnbench.metrics.catalogue.entries import (
    CDF,
    FOUR_PERCENT,
    INFINITE,
    INTERVAL,
    LOG_OF_TWO_PERCENT,
    LOG_PROB,
    MEAN,
    MINUS_INFINITE,
    MOMENTS,
    QUANTILE_GRID,
    TEN_POINTS_LIKELIER,
    TEN_POINTS_OF_TWO_PERCENT,
    TWO_PERCENT,
    VARIANCE,
    at,
    higher,
    lower,
    needing,
    neither,
    of,
)

OF_NUMBERS = (
    *needing(
        MEAN,
        lower("rmse", at("scores:root_mean_squared_error"), "target_units", TWO_PERCENT),
        lower("mae", at("scores:absolute_error"), "target_units", TWO_PERCENT),
    ),
    *needing(
        LOG_PROB,
        higher(
            "log_likelihood_standardised",
            at("scores:log_likelihood"),
            "nats",
            LOG_OF_TWO_PERCENT,
            standardised=True,
            limits=MINUS_INFINITE,
        ),
    ),
    *needing(
        MOMENTS,
        higher(
            "log_likelihood_gaussian",
            at("scores:gaussian_log_likelihood"),
            "nats",
            LOG_OF_TWO_PERCENT,
            limits=MINUS_INFINITE,
        ),
    ),
    lower("crps", at("crps:crps"), "target_units", TWO_PERCENT, limits=INFINITE),
    neither("picp_50", at("coverage:interval_coverage", mass=0.5), "fraction"),
    neither("picp_90", at("coverage:interval_coverage", mass=0.9), "fraction"),
    neither("picp_95", at("coverage:interval_coverage", mass=0.95), "fraction"),
    neither("mpiw_50", of("coverage:interval_width", mass=0.5), "target_units", limits=INFINITE),
    neither("mpiw_90", of("coverage:interval_width", mass=0.9), "target_units", limits=INFINITE),
    neither("mpiw_95", of("coverage:interval_width", mass=0.95), "target_units", limits=INFINITE),
    *needing(
        CDF,
        lower("calibration_error", at("coverage:calibration_error"), "sum_of_squares"),
        lower("calibration_mae", at("coverage:mean_absolute_calibration_error"), "fraction"),
    ),
    *needing(
        VARIANCE,
        neither("sharpness", of("coverage:sharpness"), "target_units_squared", limits=INFINITE),
        neither("sharpness_root", of("coverage:root_sharpness"), "target_units", limits=INFINITE),
    ),
    lower("mae_median", at("coverage:absolute_error_of_median"), "target_units", TWO_PERCENT),
    *needing(
        QUANTILE_GRID,
        lower("pinball", at("quantiles:pinball_loss"), "target_units", TWO_PERCENT),
    ),
    *needing(
        INTERVAL,
        neither("interval_coverage", at("sets:stated_interval_coverage"), "fraction"),
        neither(
            "interval_width", of("sets:stated_interval_width"), "target_units", limits=INFINITE
        ),
        lower(
            "interval_score",
            at("sets:interval_score"),
            "target_units",
            TWO_PERCENT,
            limits=INFINITE,
        ),
    ),
    *needing(
        MOMENTS,
        lower(
            "aurc_squared_error",
            at("selective:squared_error_aurc"),
            "target_units_squared",
            FOUR_PERCENT,
        ),
        lower(
            "aurc_squared_error_excess",
            at("selective:excess_squared_error_aurc"),
            "target_units_squared",
        ),
    ),
    *(
        lower(
            f"interval_score_{percent}",
            at("coverage:central_interval_score", mass=percent / 100),
            "target_units",
            TWO_PERCENT,
            limits=INFINITE,
        )
        for percent in (90, 95)
    ),
    *(
        lower(
            f"wcrps_{name}",
            at("quantiles:weighted_crps", left=left, right=2 - left),
            "target_units",
            TWO_PERCENT,
            limits=INFINITE,
        )
        for name, left in (("left", 2), ("center", 1), ("right", 0))
    ),
    *needing(
        CDF,
        lower(
            "crls",
            at("ranked_logarithm:continuous_ranked_logarithmic_score"),
            "target_units",
            TWO_PERCENT,
            limits=INFINITE,
        ),
    ),
    lower(
        "newsvendor_90",
        at("decisions:newsvendor_cost", level=0.9),
        "target_units",
        TWO_PERCENT,
        limits=INFINITE,
    ),
    lower(
        "newsvendor_10",
        at("decisions:newsvendor_cost", level=0.1),
        "target_units",
        TWO_PERCENT,
        limits=INFINITE,
    ),
)

# Batches of ten points: the metrics themselves check for draws, and give a reason.
OF_BATCHES = (
    lower(
        "joint_log_loss",
        at("joint.log_loss:joint_log_loss"),
        "nats_per_batch",
        TEN_POINTS_LIKELIER,
        limits=INFINITE,
        margin_of_reals=TEN_POINTS_OF_TWO_PERCENT,
    ),
    lower(
        "joint_log_loss_dyadic",
        at("joint.log_loss:dyadic_joint_log_loss"),
        "nats_per_batch",
        TEN_POINTS_LIKELIER,
        limits=INFINITE,
        margin_of_reals=TEN_POINTS_OF_TWO_PERCENT,
    ),
    lower(
        "joint_energy_score",
        at("joint.energy_score:joint_energy_score"),
        "target_units",
        TWO_PERCENT,
    ),
)

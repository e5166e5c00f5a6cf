"""Scores against a reference, a posterior, a function or a gradient instead of targets."""

from bnnbench.metrics.catalogue.entries import (
    FIVE_PERCENT,
    at,
    higher,
    lower,
    neither,
)

OF_DISTANCES = (
    lower("wasserstein2", at("distances:wasserstein2"), "target_units", FIVE_PERCENT),
    lower("kl_from_reference", at("distances:kl_divergence"), "nats", FIVE_PERCENT),
)

OF_CERTIFIED = (
    neither("kl_from_truth", at("functions.marginals:kl_from_truth"), "nats"),
    neither("w2_relative", at("functions.marginals:w2_relative"), "reference_std"),
    neither("mean_error", at("functions.marginals:mean_error"), "reference_std"),
    neither("std_ratio", at("functions.marginals:std_ratio"), "ratio_to_reference_std"),
    neither("joint_kl_5", at("functions.joints:joint_kl"), "nats"),
    neither("correlation_error", at("functions.joints:correlation_error"), "correlation"),
    neither("sliced_w2", at("functions.joints:sliced_w2"), "reference_std"),
    neither("energy_relative", at("functions.marginals:energy_relative"), "reference_std"),
    neither("total_variation_from_truth", at("functions.marginals:total_variation"), "fraction"),
)

OF_KNOWN_FUNCTIONS = (
    neither(
        "cdf_at_truth_negative", at("far:cdf_at_truth", side=-1.0), "fraction", standardised=True
    ),
    neither(
        "cdf_at_truth_positive", at("far:cdf_at_truth", side=1.0), "fraction", standardised=True
    ),
)

OF_PROBES = (
    lower("eps_mu", at("moments:eps_mu"), "reference_std"),
    neither("eps_sigma", at("moments:eps_sigma"), "ratio_to_reference_std"),  # 1 is exact
    lower("kl_class_posterior", at("moments:kl_class_posterior"), "nats", FIVE_PERCENT),
    neither("excluded_share", at("moments:excluded_share"), "fraction"),
    neither("eps_mu_floor", at("moments:eps_mu_floor"), "reference_std"),
    neither("kl_floor", at("moments:kl_floor"), "nats"),
    neither("propagated_mean", at("moments:propagated_mean"), "output"),
    neither("propagated_std", at("moments:propagated_std"), "output"),
    neither("sampled_quantile", at("moments:sampled_quantile"), "output"),
    lower("kl_to_exact", at("divergences:kl_to_exact"), "nats"),
    lower("kl_from_exact", at("divergences:kl_from_exact"), "nats"),
    lower("total_variation", at("divergences:total_variation"), "fraction"),
    lower("logistic_error", at("divergences:logistic_error"), "fraction"),
    lower("cubic_error", at("divergences:cubic_error"), "fraction"),
    lower("excess_risk", at("oracle:excess_risk"), "nats"),
    neither("claimed_variance", at("oracle:claimed_variance"), "epistemic_variance"),
    neither("earned_variance", at("oracle:earned_variance"), "epistemic_variance"),
    neither("cdf_at_each", at("far:cdf_at_each"), "fraction"),
    neither("iterations", at("uncertainty:iterations"), "count"),
    lower("relative_train_time", at("times:relative_train_time"), "ratio_to_plain_training"),
    higher("epistemic_rank", at("oracle:epistemic_rank"), "correlation"),
)

OF_ATTACKS = (neither("zero_gradient", at("robustness:zero_gradient"), "fraction"),)

"""Display names; a name without an entry is shown unchanged."""

from collections.abc import Container

from bnnbench.datasets.names import title_of

METRICS = {
    "accuracy": "Accuracy",
    "balanced_accuracy": "Balanced accuracy",
    "average_precision": "Average precision",
    "top5_accuracy": "Top-5",
    "log_likelihood": "Log likelihood",
    "log_likelihood_smoothed": "Log likelihood, smoothed",
    "nll": "NLL",
    "brier": "Brier",
    "ece": "ECE",
    "ece_paper000": "Simplex calibration error (000)",
    "ece_min_variance": "ECE, minimum variance",
    "ece_adaptive": "ECE, adaptive",
    "ece_classwise": "ECE, classwise",
    "mce": "MCE",
    "auroc_ood": "AUROC",
    "auroc_ood_confidence": "AUROC (confidence)",
    "auroc_ood_mutual_information": "AUROC (mutual information)",
    "auroc_ood_dirichlet_precision": "AUROC (Dirichlet precision)",
    "auroc_ood_dirichlet_mutual_information": "AUROC (Dirichlet mutual information)",
    "aupr_out": "AUPR out",
    "aupr_in": "AUPR in",
    "fpr95_in": "FPR95",
    "fpr95_out": "FPR95 out",
    "log_likelihood_standardised": "Log likelihood, standardised",
    "log_likelihood_gaussian": "Log likelihood, Gaussian",
    "picp_50": "PICP 50",
    "picp_90": "PICP 90",
    "picp_95": "PICP 95",
    "mpiw_50": "MPIW 50",
    "mpiw_90": "MPIW 90",
    "mpiw_95": "MPIW 95",
    "calibration_error": "Calibration error",
    "calibration_mae": "Calibration MAE",
    "rmse": "RMSE",
    "mae": "MAE",
    "crps": "CRPS",
    "mae_median": "MAE of the median",
    "pinball": "Pinball loss",
    "interval_coverage": "Coverage, stated level",
    "interval_width": "Width, stated level",
    "interval_score": "Interval score",
    "set_coverage": "Coverage of sets",
    "set_size": "Size of sets",
    "wasserstein2": "W2 to the reference",
    "kl_from_reference": "KL from the reference",
    "kl_from_truth": "KL from the truth",
    "w2_relative": "W2 to the truth, relative",
    "sliced_w2": "W2 to the truth, sliced",
    "joint_kl_5": "KL of five points together",
    "cdf_at_each": "cdf at the true function",
    "cdf_at_truth_negative": "cdf at the true function, x < −10",
    "cdf_at_truth_positive": "cdf at the true function, x > 10",
    "std_ratio": "Ratio of standard deviations",
    "log_odds_of_errors": "Log odds of errors, mean",
    "log_odds_of_errors_median": "Log odds of errors, median",
    "zero_gradient": "No gradient",
    "eps_mu": "ε of μ",
    "eps_sigma": "ε of σ",
    "eps_mu_floor": "ε of μ, floor",
    "kl_floor": "KL, floor",
    "propagated_mean": "Mean, propagated",
    "propagated_std": "Standard deviation, propagated",
    "sampled_quantile": "Quantile of samples",
    "kl_class_posterior": "KL of the class probabilities",
    "kl_to_exact": "KL to the exact predictive",
    "kl_from_exact": "KL from the exact predictive",
    "total_variation": "Total variation",
    "logistic_error": "Error of the mean logistic",
    "iterations": "Steps of a fit",
    "relative_train_time": "Time of a training step, relative",
    "cubic_error": "Error of the mean logistic, by a cubic",
    "aurc": "AURC",
    "augrc": "AUGRC",
    "aurc_squared_error": "AURC of squared errors",
    "aurc_squared_error_excess": "AURC of squared errors (excess)",
    "joint_log_loss": "Joint log loss (10 points)",
    "joint_log_loss_dyadic": "Joint log loss (dyadic)",
    "joint_energy_score": "Energy score (10 points)",
    "cost_with_rejection": "Cost (rejection at 0.2)",
    "cost_of_kind": "Cost (animals or vehicles)",
    "cost_of_distance": "Cost (distance of digits)",
    "newsvendor_90": "Newsvendor cost (9:1)",
    "newsvendor_10": "Newsvendor cost (1:9)",
    "interval_score_90": "Interval score (90 %)",
    "interval_score_95": "Interval score (95 %)",
    "wcrps_left": "CRPS (left tail)",
    "wcrps_center": "CRPS (centre)",
    "wcrps_right": "CRPS (right tail)",
    "crls": "CRLS",
    "fit_seconds": "Fit",
    "fit_cpu_seconds": "Fit, processor",
    "compile_seconds": "Warm-up",
    "predict_seconds": "Predict",
    "predict_cpu_seconds": "Predict, processor",
    "gradient_rows": "Gradients",
    "likelihood_rows": "Losses",
    "curvature_rows": "Curvatures",
    "tree_rows": "Rows of trees",
    "row_updates": "Row updates",
    "message_rows": "Messages",
    "leapfrog_steps": "Leapfrog steps",
    "factorisations": "Factorisations",
    "peak_bytes": "Memory",
    "fit_joules": "Energy",
}

IN_TEXT = {"top5_accuracy": "top-5 accuracy", "brier": "Brier score"}
"""Metrics whose heading is too short for a sentence."""

SUITES = {
    "cifar10": "CIFAR-10 benchmark",
    "uci": "UCI regression benchmark",
    "uci_classification": "Classification of tables",
    "tables": "League over many tables",
    "own": "Your data",
    "active_learning": "Active learning on UCI regression sets",
    "active_learning_mnist": "Active learning on MNIST",
    "mnist": "MNIST benchmark",
    "cifar10_shift": "CIFAR under corruption and attack",
    "stability": "Stability on MNIST: noise and attacks",
    "moment_accuracy": "Accuracy of propagated moments",
    "rotated_mnist": "Rotated MNIST",
    "stl10_transfer": "Transfer from CIFAR-10 to STL-10",
    "two_moons": "Two moons",
    "few_samples": "Few draws: Monte Carlo and exact integrals over a box",
    "message_ladder": "What each approximation of message passing costs",
    "toy": "Noisy curves: the posterior of HMC, depth, coverage",
}

PAPERS = {
    "000": "Message passing for Bayesian neural networks",
    "001": "Feed-forward uncertainty propagation",
    "002": "Collapsed inference (CIBER)",
    "003": "Function-space variational inference with Dirichlet priors",
    "004": "Probabilistic backpropagation",
}

UNITS = {
    "1": "",
    "fraction": "",
    "squared_distance": "",
    "sum_of_squares": "",
    "target_units": "target units",
    "score_sum_over_classes": "",
    "nats_per_point": "nats",
    "nats_per_point_target_units": "nats",
    "nats_per_batch": "nats per batch",
    "cost": "",
    "$1000": "thousand dollars",
    "unit not stated": "",
}

ROUNDED = "Predictions are rounded: every score computed from them keeps four digits."

MINOR = frozenset({
    "ece_min_variance", "ece_adaptive", "ece_classwise", "mce", "aurc", "augrc",
    "entropy", "expected_entropy", "mutual_information",
    "log_odds_of_errors", "log_odds_of_errors_median",
    "auroc_ood_confidence", "auroc_ood_mutual_information", "aupr_in", "fpr95_out",
    "auroc_ood_dirichlet_precision", "auroc_ood_dirichlet_mutual_information",
    "dirichlet_precision", "dirichlet_mutual_information", "log_likelihood_smoothed",
    "mae", "log_likelihood_standardised", "log_likelihood_gaussian", "calibration_mae",
    "picp_50", "picp_90", "mpiw_50", "mpiw_90", "sharpness", "sharpness_root",
    "aurc_squared_error", "aurc_squared_error_excess", "newsvendor_90", "newsvendor_10",
    "interval_score_90", "wcrps_left", "wcrps_center", "wcrps_right", "crls",
    "joint_log_loss", "joint_log_loss_dyadic", "joint_energy_score",
    "cost_with_rejection", "cost_of_kind", "cost_of_distance",
})  # fmt: skip
"""Metrics shown in a separate, folded table."""

PERCENT = frozenset({"accuracy", "balanced_accuracy", "top5_accuracy", "zero_gradient"})
"""Metrics shown in percent; files hold fractions."""


def is_minor(name: str, scored: Container[str]) -> bool:
    """Return whether a metric is in the folded table.

    A log likelihood is, if NLL is scored; a classwise error is not, if classes may be rare.
    """
    if name == "ece_classwise" and "balanced_accuracy" in scored:
        return False
    return name in MINOR or (name == "log_likelihood" and "nll" in scored)


def metric(name: str) -> str:
    """Return the heading of a metric's column."""
    return METRICS.get(name, name.replace("_", " "))


def in_text(name: str) -> str:
    """Return a metric's name inside a sentence: "accuracy", "NLL"."""
    if name in IN_TEXT:
        return IN_TEXT[name]
    text = metric(name)
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


def suite(name: str) -> str:
    """Return the title of a suite's page."""
    return SUITES.get(name, name)


def profile(name: str) -> str:
    """Return a profile's name in running text."""
    return name.replace("_", " ")


def case(name: str, title: str = "") -> str:
    """Return the title of a record's case, or, if it has none, of its data."""
    return title or title_of(name)


def paper(name: str) -> str:
    """Return the title of a source paper, with its number."""
    return f"{PAPERS[name]} ({name})" if name in PAPERS else f"paper {name}"


def sentence(text: str) -> str:
    """Return the text with a capital first letter."""
    return text[:1].upper() + text[1:]

"""What things are called on a page; a name without an entry is shown as it is."""

from collections.abc import Container

from bnnbench.datasets.conditions.base import UNNORMALISED, acquisitions
from bnnbench.datasets.conditions.perturbations import sized

METRICS = {
    "accuracy": "Accuracy",
    "top5_accuracy": "Top-5",
    "log_likelihood": "Log likelihood",
    "log_likelihood_smoothed": "Log likelihood, smoothed",
    "nll": "NLL",
    "brier": "Brier",
    "ece": "ECE",
    "ece_paper000": "ECE (000)",
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
    "log_odds_of_errors": "Log odds of errors, mean",
    "log_odds_of_errors_median": "Log odds of errors, median",
    "zero_gradient": "No gradient",
    "eps_mu": "ε of μ",
    "eps_sigma": "ε of σ",
    "kl_class_posterior": "KL of the class probabilities",
    "kl_to_exact": "KL to the exact predictive",
    "kl_from_exact": "KL from the exact predictive",
    "total_variation": "Total variation",
    "logistic_error": "Error of the mean logistic",
    "cubic_error": "Error of the mean logistic, by a cubic",
    "aurc": "AURC",
    "augrc": "AUGRC",
    "fit_seconds": "Fit",
    "compile_seconds": "Compile",
    "predict_seconds": "Predict",
    "peak_bytes": "Memory",
    "fit_joules": "Energy",
}

DATASETS = {
    "cifar10": "CIFAR-10",
    "cifar100": "CIFAR-100",
    "svhn": "SVHN",
    "svhn_first1083": "SVHN, first 1083",
    "mnist": "MNIST",
    "fashion_mnist": "Fashion-MNIST",
    "stl10": "STL-10",
    "stl10_with_monkeys": "STL-10 with its monkeys as frogs",
    "digits_as_cifar10": "digits as CIFAR-10",
    "cubic_gap": "cubic with a gap",
    **{f"linear_correlation_{c}": f"linear, correlation {c}" for c in ("0", "0.5", "0.9")},
    "sine_far": "sine, far outside",
}

SUITES = {
    "cifar10": "CIFAR-10 benchmark",
    "uci": "UCI regression benchmark",
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
    "toy": "Noisy curves: the posterior of HMC, depth, coverage",
}

MEANS = {
    "corrupted": "Mean over the 19 corruptions",
    "corrupted_test15": "Mean over the 15 test corruptions",
}
"""What is done to test inputs in the mean; its size is a severity."""

FAMILIES = {
    "corrupted": ("Corruption", "severity"),
    "noise": ("Gaussian noise", "standard deviation"),
    "sign_noise": ("Random signs", "size"),
    "fgsm": ("Gradient signs (FGSM)", "ε"),
    "pgd": ("Projected gradient steps (PGD)", "ε"),
    "rotated": ("Rotation", "degrees"),
}
"""What is done to test inputs, and what its size is."""

PAPERS = {
    "000": "Message passing for Bayesian neural networks",
    "001": "Feed-forward uncertainty propagation",
    "002": "Collapsed inference (CIBER)",
    "003": "Function-space variational inference with Dirichlet priors",
    "004": "Probabilistic backpropagation",
}

UNITS = {
    "fraction": "",
    "squared_distance": "",
    "sum_of_squares": "",
    "target_units": "target units",
    "score_sum_over_classes": "",
    "nats_per_point": "nats",
    "nats_per_point_target_units": "nats",
}

MINOR = frozenset({
    "ece_min_variance", "ece_adaptive", "ece_classwise", "mce", "aurc", "augrc",
    "entropy", "expected_entropy", "mutual_information",
    "log_odds_of_errors", "log_odds_of_errors_median",
    "auroc_ood_confidence", "auroc_ood_mutual_information", "aupr_in", "fpr95_out",
    "auroc_ood_dirichlet_precision", "auroc_ood_dirichlet_mutual_information",
    "dirichlet_precision", "dirichlet_mutual_information", "log_likelihood_smoothed",
    "mae", "log_likelihood_standardised", "log_likelihood_gaussian", "calibration_mae",
    "picp_50", "picp_90", "mpiw_50", "mpiw_90", "sharpness", "sharpness_root",
})  # fmt: skip
"""Metrics that a table of their own holds, folded away."""

PERCENT = frozenset({"accuracy", "top5_accuracy", "zero_gradient"})
"""Metrics printed in percent; files hold fractions."""


def is_minor(name: str, scored: Container[str]) -> bool:
    """Return whether a metric is folded away; a log likelihood is, beside its negative."""
    return name in MINOR or (name == "log_likelihood" and "nll" in scored)


def metric(name: str) -> str:
    """Return the heading of a metric's column."""
    return METRICS.get(name, name.replace("_", " "))


def suite(name: str) -> str:
    """Return the title of a suite's page."""
    return SUITES.get(name, name)


def profile(name: str) -> str:
    """Return a profile's name in running text."""
    return name.replace("_", " ")


def dataset(name: str) -> str:
    """Return the name of a data set in running text, and whether its images are raw ones."""
    if name.endswith(UNNORMALISED):
        return f"{dataset(name.removesuffix(UNNORMALISED))} without normalisation"
    return DATASETS.get(name, name.replace("_", " "))


def case(name: str, title: str = "") -> str:
    """Return what a record's case is called: its title, or the words for its name."""
    return title or dataset(name)


def condition(name: str) -> str:
    """Return a test condition in words: `ood_svhn` is SVHN as out-of-distribution data."""
    if found := acquisitions(name):
        count, tested = found
        return f"{condition(tested)} after {count} acquisition{'s' * (count != 1)}"
    if (draws := name.removeprefix("samples_")).isdigit() and draws != name:
        return f"{draws} draws"
    if name == "clean":
        return "test data"
    if name == "inside":
        return "test data inside the range of the training inputs"
    if parsed := sized(name):
        what, size = family(parsed[0])
        return f"{what}, {size} {parsed[1]:g}"
    if name.startswith("ood_"):
        return f"out of distribution: {dataset(name.removeprefix('ood_'))}"
    if name.startswith("transfer_"):
        return f"transfer to {dataset(name.removeprefix('transfer_'))}"
    return name.replace("_", " ")


def family(name: str) -> tuple[str, str]:
    """Return what was done to test inputs, with its settings, and what a size is."""
    if name in MEANS:
        return MEANS[name], FAMILIES["corrupted"][1]
    kinds = [kind for kind in FAMILIES if name == kind or name.startswith(f"{kind}_")]
    if not kinds:
        return name.replace("_", " "), "size"
    kind = max(kinds, key=len)
    what, size = FAMILIES[kind]
    settings = name[len(kind) + 1 :].replace("_", " ")
    return (f"{what}: {settings}" if settings else what), size


def paper(name: str) -> str:
    """Return what a source paper is about, with the number it goes by here."""
    return f"{PAPERS[name]} ({name})" if name in PAPERS else f"paper {name}"


def sentence(text: str) -> str:
    """Return the text with a capital at its beginning."""
    return text[:1].upper() + text[1:]

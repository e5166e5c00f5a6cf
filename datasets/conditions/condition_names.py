"""The names of test conditions, written once for their classes and for printed tables."""

CLEAN = "clean"
LAW, EXACT = "law", "exact_posterior"
"""Scores of a probe over the law behind the targets: of a method, and of the exact posterior."""
FUNCTION, FUNCTION_INSIDE = "function", "function_inside"
"""Scores of a probe over the function: at all test inputs, and inside the training inputs."""


def rotated(degrees: int | float) -> str:
    """Return a name such as "rotated_30"."""
    return f"rotated_{degrees:g}"


def rotated_to_nearest(degrees: int | float) -> str:
    """Return a name such as "rotated_30_nearest"."""
    return f"rotated_{degrees:g}_nearest"


def corrupted(corruption: str, severity: int) -> str:
    """Return a name such as "corrupted_frost_3"."""
    return f"corrupted_{corruption}_{severity}"


def mean_over_corruptions(severity: int | str, only_test: bool = False) -> str:
    """Return a name such as "corrupted_3", of all nineteen, or "corrupted_test15_3"."""
    return f"corrupted_test15_{severity}" if only_test else f"corrupted_{severity}"


UNNORMALISED = "_unnormalised"
"""The end of a name where inputs are not normalised as those of training are."""


def out_of_distribution(source: str, normalised: bool = True) -> str:
    """Return a name such as "ood_svhn"."""
    return f"ood_{source}" if normalised else f"ood_{source}{UNNORMALISED}"


def transfer(source: str) -> str:
    """Return a name such as "transfer_stl10"."""
    return f"transfer_{source}"


def perturbed(family: str, size: float) -> str:
    """Return a name such as "fgsm_0.1"."""
    return f"{family}_{size:g}"


def acquired(count: int | str, condition: str = CLEAN) -> str:
    """Return a name such as "acquired_3", or "acquired_3_inside" where `condition` is not clean."""
    return f"acquired_{count}" + (f"_{condition}" if condition != CLEAN else "")


def drawn(count: int) -> str:
    """Return a name such as "samples_5", of a probe."""
    return f"samples_{count}"


def layer(number: int | str, kind: str = "") -> str:
    """Return a name such as "layer_2_C", of a probe."""
    return f"layer_{number}_{kind}" if kind else f"layer_{number}"


def output(number: int) -> str:
    """Return a name such as "output_3", of a probe."""
    return f"output_{number}"


def output_quantile(number: int, level: float) -> str:
    """Return a name such as "output_3_quantile_0.25", of a probe."""
    return f"output_{number}_quantile_{level:g}"


def steps(arithmetic: str, statistic: str) -> str:
    """Return a name such as "steps_float64_mean", of a probe."""
    return f"steps_{arithmetic}_{statistic}"


def weights(group: str) -> str:
    """Return a name such as "weights_second_bias", of a probe."""
    return f"weights_{group}"

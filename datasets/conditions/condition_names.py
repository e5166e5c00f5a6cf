"""The names of test conditions, defined once for condition classes and printed tables."""

CLEAN = "clean"
LAW, EXACT = "law", "exact_posterior"
"""Names of a probe's scores over the data distribution: the method's and the exact posterior's."""
FUNCTION, FUNCTION_INSIDE = "function", "function_inside"
"""Names of a probe's scores over the function: at all test inputs, and within the range of the
training inputs."""


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
    """Return a name such as "corrupted_3" (all nineteen) or "corrupted_test15_3"."""
    return f"corrupted_test15_{severity}" if only_test else f"corrupted_{severity}"


UNNORMALISED = "_unnormalised"
"""Suffix of a name if its inputs are not normalised like the training inputs."""


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
    """Return a name such as "acquired_3", or "acquired_3_inside" if `condition` is not clean."""
    return f"acquired_{count}" + (f"_{condition}" if condition != CLEAN else "")


def drawn(count: int) -> str:
    """Return a probe's name such as "samples_5"."""
    return f"samples_{count}"


def layer(number: int | str, kind: str = "") -> str:
    """Return a probe's name such as "layer_2_C"."""
    return f"layer_{number}_{kind}" if kind else f"layer_{number}"


def output(number: int) -> str:
    """Return a probe's name such as "output_3"."""
    return f"output_{number}"


def output_quantile(number: int, level: float) -> str:
    """Return a probe's name such as "output_3_quantile_0.25"."""
    return f"output_{number}_quantile_{level:g}"


def at(position: float) -> str:
    """Return a probe's name such as "at_-12.5"."""
    return f"at_{round(position, 6):g}"


def training_step(in_torch: bool) -> str:
    """Return a probe's name: "training_step", or "training_step_in_torch"."""
    return "training_step" + "_in_torch" * in_torch


def steps(arithmetic: str, statistic: str) -> str:
    """Return a probe's name such as "steps_float64_mean"."""
    return f"steps_{arithmetic}_{statistic}"


def weights(group: str) -> str:
    """Return a probe's name such as "weights_second_bias"."""
    return f"weights_{group}"

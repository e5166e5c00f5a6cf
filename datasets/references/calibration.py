"""Stored simulation-based calibrations: ranks of true values among draws, and their uniformity.

Sources: Talts et al. (2018), "Validating Bayesian Inference Algorithms with Simulation-Based
Calibration"; Modrák et al. (2023), "Simulation-Based Calibration Checking for Bayesian Computation:
The Choice of Test Quantities Shapes Sensitivity", on quantities that depend on the data.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bnnbench.datasets.references.certificate import Refused

LEAST_REPLICATIONS = 200
SIGNIFICANCE = 0.01
"""Minimum p-value times the number of quantities."""
NEEDED = ("loss", "sum_of_squares")
"""Quantities that a calibration must include: function values by themselves do not reveal a wrong
noise."""


def uniformity(ranks: Sequence[int], draws: int) -> float:
    """Return the Kolmogorov-Smirnov p-value for the uniformity of ranks 0 to `draws`."""
    from scipy.stats import kstest  # scipy.stats loads slowly

    u = (np.asarray(ranks) + 0.5) / (draws + 1)
    return float(kstest(u, "uniform").pvalue)


def failures(record: Mapping[str, Any]) -> list[str]:
    """Return each condition that a calibration's ranks do not meet.

    Raises `Refused` for a missing key.
    """
    if missing := [key for key in ("family", "draws", "ranks", "passes") if key not in record]:
        raise Refused(f"the calibration has no {', '.join(missing)}")
    ranks, draws = record["ranks"], record["draws"]
    if absent := [name for name in NEEDED if name not in ranks]:
        raise Refused(f"the calibration has no ranks of {', '.join(absent)}")
    failed = []
    for name, replications in ranks.items():
        if len(replications) < LEAST_REPLICATIONS:
            failed.append(f"{name}: {len(replications)} replications, needed {LEAST_REPLICATIONS}")
        p, bound = uniformity(replications, draws), SIGNIFICANCE / len(ranks)
        if not p > bound:
            failed.append(f"{name}: p = {p:.2g}, needed > {bound:.2g}")
    return failed


def check(record: Mapping[str, Any]) -> None:
    """Raise `Refused` unless a calibration's ranks pass and it says so."""
    failed = failures(record)
    if record["passes"] is not (not failed):
        raise Refused(
            f"passes: {record['passes']}, but by its ranks: "
            + ("; ".join(failed) or "every condition is met")
        )
    if failed:
        raise Refused(f"it does not pass: {'; '.join(failed)}")

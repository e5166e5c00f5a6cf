"""The conditions for a reference posterior, each a bound on a number of its certificate.

Checksums say for which arrays a posterior was certified.
"""

import hashlib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from torch import Tensor

from bnnbench.datasets.base import Dataset

FORMAT = 1
QUANTITIES = ("f_test", "f_train", "loss", "sum_of_squares", "log_density")
"""Quantities monitored in every chain; all are invariant to permutations of hidden units."""
LEAST_CHAINS, LARGEST_R_HAT, LEAST_ESS = 8, 1.01, 400
ACCEPTANCE = (0.6, 0.95)
LARGEST_MEAN_Z, LARGEST_SCALE_Z = 4.0, 5.0
"""Maximum difference of two runs at any test row, in standard errors: for means, and for
logarithms of standard deviations."""
KEYS = (
    "format", "name", "model", "model_hash", "data", "draws_sha256", "sampler", "chains", "dtype",
    "quantities", "repeat", "acceptance", "divergences", "seconds", "date", "sbc", "moments",
    "passes", "failed",
)  # fmt: skip
MOMENTS = ("mean", "std", "mcse_mean")


def failures(certificate: Mapping[str, Any]) -> list[str]:
    """Return each condition that the numbers do not meet, with value and bound.

    A number that is not finite meets no condition. The sampler's calibration is not among the
    numbers and is checked separately. Raises `Refused` for a missing key.
    """
    failed: list[str] = []

    def require(name: str, met: bool, value: object, bound: str) -> None:
        if not met:
            failed.append(f"{name}: {value}, needed {bound}")

    chains = number(certificate, "chains")
    require("chains", chains >= LEAST_CHAINS, chains, f">= {LEAST_CHAINS}")
    for name in QUANTITIES:
        r_hat, bulk, tail = (
            number(certificate, "quantities", name, key)
            for key in ("r_hat", "ess_bulk", "ess_tail")
        )
        require(f"r_hat of {name}", r_hat < LARGEST_R_HAT, r_hat, f"< {LARGEST_R_HAT}")
        require(f"ess_bulk of {name}", bulk > LEAST_ESS, bulk, f"> {LEAST_ESS}")
        require(f"ess_tail of {name}", tail > LEAST_ESS, tail, f"> {LEAST_ESS}")
    divergences = number(certificate, "divergences")
    require("divergences", divergences == 0, divergences, "0")
    acceptance = number(certificate, "acceptance")
    low, high = ACCEPTANCE
    require("acceptance", low <= acceptance <= high, acceptance, f"{low} to {high}")
    for key, bound in (("worst_mean_z", LARGEST_MEAN_Z), ("worst_scale_z", LARGEST_SCALE_Z)):
        z = number(certificate, "repeat", key)
        require(f"repeat, {key}", z <= bound, z, f"<= {bound}")
    dtype = certificate["dtype"]
    require("dtype", dtype == "float64", dtype, "float64")
    return failed


def check(certificate: Mapping[str, Any]) -> None:
    """Raise `Refused` unless a certificate is complete, passes, and says so."""
    if missing := [key for key in KEYS if key not in certificate]:
        raise Refused(f"certificate.json has no {', '.join(missing)}")
    if certificate["format"] != FORMAT:
        raise Refused(f"certificate.json, format: {certificate['format']}, needed {FORMAT}")
    for name in MOMENTS:
        if name not in certificate["moments"]:
            raise Refused(f"certificate.json, moments: {name} is missing")
    failed = failures(certificate)
    if certificate["passes"] is not (not failed) or bool(certificate["failed"]) != bool(failed):
        raise Refused(
            f"certificate.json, passes: {certificate['passes']}, but by its numbers: "
            + ("; ".join(failed) or "every condition is met")
        )
    if failed:
        raise Refused(f"certificate.json does not pass: {'; '.join(failed)}")


def number(certificate: Mapping[str, Any], *path: str) -> float:
    """Return the number at a path of keys, NaN for text or null; raises `Refused` if absent."""
    value: Any = certificate
    for key in path:
        if not isinstance(value, Mapping) or key not in value:
            raise Refused(f"certificate.json has no {'.'.join(path)}")
        value = value[key]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return math.nan
    return value


class Refused(ValueError):
    """A reference cannot be trusted; the message names file, key and cause."""


def checksums(data: Dataset) -> Mapping[str, object]:
    """Return the SHA-256 of each standardised array as little-endian float64, and the sizes."""
    train, test = data.train, data.test
    arrays = {
        "train_inputs": train.inputs,
        "train_targets": train.targets,
        "test_inputs": test.inputs,
    }
    sizes = {"rows": len(train), "test_rows": len(test), "features": train.inputs.shape[1]}
    return {name: checksum(array) for name, array in arrays.items()} | sizes


def checksum(array: Tensor) -> str:
    """Return the SHA-256 of an array's bytes as C-contiguous little-endian float64."""
    values = np.ascontiguousarray(array.cpu().numpy(), dtype="<f8")
    return hashlib.sha256(values.tobytes()).hexdigest()

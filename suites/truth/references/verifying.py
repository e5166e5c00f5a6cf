"""Checks of finished references: in seconds from their files, in minutes by another run."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from bnnbench.datasets.references import certificate
from bnnbench.datasets.references.certificate import Refused
from bnnbench.datasets.references.reading import Reference, read, require_data
from bnnbench.engine.store.rebuilding import NotRepeatable, rebuilt
from bnnbench.methods.hmc.convergence import effective_sample_size, split
from bnnbench.methods.hmc.method import Hmc
from bnnbench.suites.truth.references.certifying import repeat, worst
from bnnbench.suites.truth.references.model import Model
from bnnbench.suites.truth.references.sampling import sample

LARGEST_R_HAT, LEAST_ESS = 1.05, 300
"""Bounds for the stored draws. They are a few from each chain, so that their R-hat is noisier than
the certificate's, which uses all iterations."""
LARGEST_Z = 5.0
"""Maximum difference between moments of the stored draws and of all iterations, in standard errors.
"""


def verified(folder: Path) -> tuple[Reference, list[str]]:
    """Return the reference, and warnings about parts that could not be compared.

    Raises `Refused`, with file, key and cause, for any mismatch.
    """
    reference = read(folder)
    model, warnings = model_of(reference), []
    if model.source.missing():
        warnings.append(f"{reference.name}: data absent, not compared")
    else:
        require_data(reference, model.checksums)
    try:
        _check_draws(reference)
    except Refused as reason:
        raise Refused(f"{reference.name}: {reason}") from reason
    return reference, warnings


def model_of(reference: Reference) -> Model:
    """Return the model of a reference; raises `Refused` unless it has the stated hash."""
    stated = reference.certificate
    try:
        model = rebuilt(stated["model"])
    except (NotRepeatable, TypeError, ValueError) as error:
        raise Refused(f"{reference.name}: certificate.json, model: {error}") from error
    if not isinstance(model, Model) or model.hash != stated["model_hash"]:
        model_hash = getattr(model, "hash", None)
        raise Refused(
            f"{reference.name}: certificate.json, model_hash: {stated['model_hash']}, but the "
            f"model has {model_hash}"
        )
    if reference.draws.noise_std != model.noise.std:
        raise Refused(
            f"{reference.name}: draws.npz, noise_std: {reference.draws.noise_std}, but the model "
            f"has {model.noise.std}"
        )
    return model


def rerun(reference: Reference, sampler: Hmc) -> list[str]:
    """Return each condition that a run with a new seed does not meet; empty if it agrees."""
    seed = max(reference.certificate["sampler"].get("seeds", [0])) + 1
    traces = sample(model_of(reference), sampler, seed)
    stated: dict[str, Any] = {
        **reference.certificate,
        "quantities": {name: worst(values) for name, values in traces.quantities.items()},
        "repeat": repeat(reference.draws.by_chain, traces.f_test),
        "acceptance": traces.acceptance,
        "divergences": traces.divergences,
    }
    return certificate.failures(stated)


def _check_draws(reference: Reference) -> None:
    by_chain = reference.draws.by_chain
    numbers = worst(by_chain)
    for key, bad, bound in (
        ("r_hat", not numbers["r_hat"] < LARGEST_R_HAT, f"< {LARGEST_R_HAT}"),
        ("ess_bulk", not numbers["ess_bulk"] > LEAST_ESS, f"> {LEAST_ESS}"),
    ):
        if bad:
            raise Refused(f"draws.npz, {key} of the stored draws: {numbers[key]}, needed {bound}")
    for key, row, z in _differences(by_chain, reference.certificate["moments"]):
        if not z <= LARGEST_Z:
            raise Refused(
                f"certificate.json, moments, {key}: at test row {row} the draws differ by {z:.1f} "
                f"standard errors, needed <= {LARGEST_Z}"
            )


def _differences(
    by_chain: Float[np.ndarray, "chains draws points"], moments: Mapping[str, Any]
) -> Iterator[tuple[str, int, float]]:
    """Yield each moment with its worst test row, and the difference there in standard errors."""
    flat = by_chain.reshape(-1, by_chain.shape[2])
    mean, std = flat.mean(0), flat.std(0, ddof=1)
    stated = {key: np.array(moments[key], dtype=float) for key in ("mean", "std")}
    size = effective_sample_size(split(by_chain))
    squared_size = effective_sample_size(split((by_chain - mean) ** 2))
    differences = {
        "mean": np.abs(mean - stated["mean"]) / (std / np.sqrt(size)),
        "std": np.abs(np.log(std / stated["std"])) * np.sqrt(2 * squared_size),
    }
    for key, z in differences.items():
        row = int(np.argmax(np.nan_to_num(z, nan=np.inf)))
        yield key, row, float(z[row])

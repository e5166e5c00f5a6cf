"""Certificates: comparison of two runs of a sampler, and convergence of each."""

import hashlib
import importlib.metadata
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
from jaxtyping import Float

from bnnbench.datasets.references import certificate, draws
from bnnbench.datasets.references.reading import CALIBRATIONS
from bnnbench.engine.declare.description import describe
from bnnbench.methods.hmc.convergence import (
    effective_sample_size,
    ess_bulk,
    ess_tail,
    split,
    split_r_hat,
)
from bnnbench.methods.hmc.posterior import LARGEST
from bnnbench.suites.truth.references.model import SEEDS, Recipe
from bnnbench.suites.truth.references.sampling import Traces

LIBRARIES = ("bnnbench", "torch", "numpy", "scipy")
Chains = Float[np.ndarray, "chains draws points"]


def certified(name: str, recipe: Recipe, first: Traces, second: Traces) -> tuple[dict, bytes]:
    """Return the certificate, which says whether it passes, and the file of draws.

    The draws and all numbers except `repeat` are from the first run.
    """
    content = draws.pack(draws.thinned(first.f_test, recipe.model.noise.std))
    stated: dict[str, Any] = {
        "format": certificate.FORMAT,
        "name": name,
        "model": recipe.model.description,
        "model_hash": recipe.model.hash,
        "data": dict(recipe.model.checksums),
        "draws_sha256": hashlib.sha256(content).hexdigest(),
        "sampler": {
            "class": type(recipe.sampler).__name__,
            "settings": describe(recipe.sampler),
            "seeds": list(SEEDS),
            "libraries": {name: importlib.metadata.version(name) for name in LIBRARIES},
            "machine": platform.machine(),
        },
        "chains": len(first.f_test),
        "dtype": str(first.f_test.dtype),
        "quantities": {name: worst(values) for name, values in first.quantities.items()},
        "repeat": repeat(first.f_test, second.f_test),
        "acceptance": first.acceptance,
        "divergences": first.divergences + second.divergences,
        "seconds": round(first.seconds + second.seconds, 1),
        "date": datetime.now(UTC).date().isoformat(),
        "sbc": f"{CALIBRATIONS}/{recipe.model.family}.json",
        "moments": moments(first.f_test),
    }
    failed = certificate.failures(stated)
    return stated | {"passes": not failed, "failed": failed}, content


def worst(values: Float[np.ndarray, "chains draws quantities"]) -> dict[str, float]:
    """Return the maximum R-hat and the minimum effective sample sizes over several quantities."""
    return {
        "r_hat": min(LARGEST, float(split_r_hat(values).max())),
        "ess_bulk": float(ess_bulk(values).min()),
        "ess_tail": float(ess_tail(values).min()),
    }


def repeat(first: Chains, second: Chains) -> dict[str, float]:
    r"""Return the maximum differences between two runs at any point, in standard errors.

    $$ \frac{|m_A - m_B|}{s \sqrt{1/E_A + 1/E_B}}, \qquad
       \frac{|\log(s_A / s_B)|}{\sqrt{1/(2 E'_A) + 1/(2 E'_B)}} $$

    with the effective sample sizes E of draws and E' of their squared deviations, and s the pooled
    standard deviation.
    """
    means, stds, sizes, squared_sizes = zip(*map(_summary, (first, second)), strict=True)
    pooled = np.sqrt((stds[0] ** 2 + stds[1] ** 2) / 2)
    error = pooled * np.sqrt(1 / sizes[0] + 1 / sizes[1])
    scale_error = np.sqrt(1 / (2 * squared_sizes[0]) + 1 / (2 * squared_sizes[1]))
    return {
        "worst_mean_z": float((np.abs(means[0] - means[1]) / error).max()),
        "worst_scale_z": float((np.abs(np.log(stds[0] / stds[1])) / scale_error).max()),
    }


def moments(f: Chains) -> Mapping[str, list[float]]:
    """Return mean, standard deviation and the mean's standard error at each point."""
    mean, std, size, _ = _summary(f)
    columns = {"mean": mean, "std": std, "mcse_mean": std / np.sqrt(size)}
    return {name: column.tolist() for name, column in columns.items()}


def _summary(f: Chains) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return mean, standard deviation and the effective sample sizes of draws and their squared
    deviations."""
    flat = f.reshape(-1, f.shape[2])
    mean, std = flat.mean(0), flat.std(0, ddof=1)
    squared = effective_sample_size(split((f - mean) ** 2))
    return mean, std, effective_sample_size(split(f)), squared

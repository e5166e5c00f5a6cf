"""The result of one comparison, and the way a library is asked for its numbers."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from torch import Tensor

from bnnbench.methods import environments
from bnnbench.methods.libraries.process import LibraryProcess
from bnnbench.methods.networks.architectures import Architecture, to_json

INSIDE = Path(__file__).parent / "inside"
ROUNDING = 1e-8
"""Largest relative difference that rounding in double precision explains here."""
SURE = 0.99
"""Probability that equal answers pass a comparison by draws."""


@dataclass(frozen=True)
class Comparison:
    """The largest difference of one quantity, in the units of its error."""

    library: str
    version: str
    method: str
    quantity: str
    difference: float
    """Largest difference: relative to the largest value, or absolute if draws are compared."""
    error: float
    """The allowed rounding, or the Monte Carlo standard error of that difference."""
    agrees: bool
    numbers: int
    """Number of compared numbers."""
    kind: str = "rounding"
    """rounding, draws, or definition: a difference explained by two definitions."""
    deviation: float | None = None
    """Largest difference of draws in standard errors, over all numbers; None for other kinds."""


@dataclass(frozen=True)
class Answers:
    """The arrays that a library computed, and its version."""

    version: str
    arrays: Mapping[str, np.ndarray]


def ask(
    library: str,
    script: str,
    arrays: Mapping[str, Tensor],
    architecture: Architecture = (),
    classes: int | None = None,
    noise_std: float | None = None,
    **settings: Any,
) -> Answers:
    """Return the output of a script of this folder in a library's environment."""
    interpreter = environments.interpreter_of(library)
    assert interpreter, f"{library} has no environment: {environments.cure(library)}"
    process = LibraryProcess(library, INSIDE / f"{script}.py", interpreter)
    process.fit(
        {
            **{"settings": settings, "classes": classes, "noise_std": noise_std, "seed": 0},
            "architecture": to_json(architecture),
        },
        arrays,
    )
    found = process.predict(next(iter(arrays.values())), 0)
    packages: Any = process.environment["packages"]
    process.end()
    return Answers(packages[library], {name: value.numpy() for name, value in found.items()})


def equal(
    library: str,
    version: str,
    method: str,
    quantity: str,
    ours: Any,
    theirs: Any,
    kind: str = "rounding",
    allowed: float = ROUNDING,
) -> Comparison:
    """Return the comparison of numbers that may differ only by rounding or by definition."""
    a, b = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    assert a.shape == b.shape, (method, quantity, a.shape, b.shape)
    difference = float(np.abs(a - b).max() / np.abs(a).max())
    agrees = difference <= allowed
    return Comparison(library, version, method, quantity, difference, allowed, agrees, a.size, kind)


def by_draws(
    library: str,
    version: str,
    method: str,
    quantity: str,
    ours: tuple[Any, Any],
    theirs: tuple[Any, Any],
) -> Comparison:
    """Return the comparison of estimates, each with its standard errors.

    They agree if no difference is larger than the largest of so many would be by chance.
    """
    (a, error_a), (b, error_b) = (tuple(map(np.ravel, pair)) for pair in (ours, theirs))
    gaps, errors = np.abs(a - b), np.sqrt(np.square(error_a) + np.square(error_b))
    deviations = gaps / errors
    limit = float(stats.norm.ppf(1 - (1 - SURE) / 2 / len(gaps)))
    at, largest = int(gaps.argmax()), float(deviations.max())
    return Comparison(
        *(library, version, method, quantity),
        *(float(gaps[at]), float(errors[at]), largest <= limit, len(gaps), "draws", largest),
    )


def with_errors(draws: Any, batches: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Return means over draws (draws, ...), and their standard errors by means of batches.

    A batch is a piece of one chain if the number of chains divides the number of batches.
    """
    values = np.asarray(draws, dtype=float)
    pieces = values[: len(values) // batches * batches].reshape(batches, -1, *values.shape[1:])
    means = pieces.mean(1)
    return means.mean(0), means.std(0, ddof=1) / batches**0.5

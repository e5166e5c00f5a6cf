"""Measurements of a posterior, in addition to the scores of its predictions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Protocol, runtime_checkable

import torch

from bnnbench.datasets.base import Dataset
from bnnbench.datasets.conditions.traits import Traits
from bnnbench.metrics import PROBED


@dataclass(frozen=True)
class Measured:
    """Scores of one place in a posterior, such as a layer, and its name on pages."""

    scores: Mapping[str, float]
    """metric, one of `metrics.PROBED` → value"""
    traits: Traits


@runtime_checkable
class Probe(Protocol):
    """A frozen dataclass of the measurement's settings, which are part of a run's description."""

    def measure(
        self, posterior: Any, dataset: Dataset, rng: torch.Generator
    ) -> Mapping[str, Measured]:
        """Return the measured scores, by their names in records.

        `rng` is on the posterior's device and equal for all methods of a source, fold and seed;
        the data set is on the CPU, is shared, and must not be changed. Raises `InferenceDiverged`
        for a posterior that cannot be measured.
        """
        ...


def checked(
    measured: Mapping[str, Measured], scored: Mapping[str, object]
) -> dict[str, dict[str, float]]:
    """Return a probe's measurements as plain numbers: condition → metric → value.

    Raises ValueError for a condition that is already scored or a metric that is not declared.
    """
    if twice := measured.keys() & scored.keys():
        raise ValueError(f"conditions that are already scored: {', '.join(sorted(twice))}")
    if unknown := {name for one in measured.values() for name in one.scores} - PROBED.keys():
        raise ValueError(
            f"a probe measured {', '.join(sorted(unknown))}, which metrics.PROBED does not declare"
        )
    return {c: {n: float(v) for n, v in one.scores.items()} for c, one in measured.items()}


def has_samples(probe: object) -> bool:
    """Return whether a probe draws an adjustable number of samples."""
    return is_dataclass(probe) and "samples" in {field.name for field in fields(probe)}


def with_samples(probes: Sequence[Any], samples: int) -> tuple[Any, ...]:
    """Return the probes, with this number of samples if they draw any."""
    return tuple(replace(p, samples=samples) if has_samples(p) else p for p in probes)

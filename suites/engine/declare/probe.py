"""What a suite measures of a posterior beside the scores of its predictions."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, Protocol, runtime_checkable

import torch

from bnnbench.datasets.base import Dataset
from bnnbench.metrics import PROBED


@runtime_checkable
class Probe(Protocol):
    """A frozen dataclass of the measurement's settings, which are part of what a run is."""

    def measure(
        self, posterior: Any, dataset: Dataset, rng: torch.Generator
    ) -> Mapping[str, Mapping[str, float]]:
        """Return condition → metric (one of `metrics.PROBED`) → value.

        `rng` lives on the device of the posterior and is equal for all methods of a source,
        fold and seed; the data set lies on the CPU, is shared, and must not be changed.
        Raises `InferenceDiverged` for a posterior of which nothing can be measured.
        """
        ...


def checked(
    measured: Mapping[str, Mapping[str, float]], taken: Mapping[str, object]
) -> dict[str, dict[str, float]]:
    """Return what a probe measured as plain numbers.

    Raises ValueError for a condition that is scored already or a metric that is not declared.
    """
    if twice := measured.keys() & taken.keys():
        raise ValueError(f"two scores of one condition: {', '.join(sorted(twice))}")
    if unknown := {name for scores in measured.values() for name in scores} - PROBED.keys():
        raise ValueError(
            f"a probe measured {', '.join(sorted(unknown))}, which metrics.PROBED does not declare"
        )
    return {c: {name: float(v) for name, v in scores.items()} for c, scores in measured.items()}


def has_samples(probe: object) -> bool:
    """Return whether a probe draws a number of samples that may be chosen."""
    return is_dataclass(probe) and "samples" in {field.name for field in fields(probe)}


def with_samples(probes: Sequence[Any], samples: int) -> tuple[Any, ...]:
    """Return the probes, those that draw samples with so many of them."""
    return tuple(replace(p, samples=samples) if has_samples(p) else p for p in probes)

"""What a page says of its figures: galleries, each of one kind with its explanation."""

from collections.abc import Sequence
from dataclasses import dataclass

from bnnbench.reports.figures.canvas import Drawing
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.load import Damage


@dataclass(frozen=True)
class Gallery:
    """Figures of one kind, side by side."""

    title: str
    explanation: str
    drawings: tuple[Drawing, ...]
    legend: bool = False
    """Whether colours must be explained: methods share a figure."""
    wide: bool = False
    """Whether each figure takes the whole width."""


@dataclass(frozen=True)
class Galleries:
    """Several galleries, and the runs whose predictions they lack."""

    galleries: tuple[Gallery, ...]
    damage: tuple[Damage, ...]
    absent: int
    """How many completed runs have no predictions in the store."""


def shared(title: str, explanation: str, drawings: Sequence[Drawing]) -> list[Gallery]:
    """Return the gallery of figures that methods share, none where there are no figures."""
    return [Gallery(title, explanation, tuple(drawings), legend=True)] if drawings else []


def where_of(benchmark: Benchmark, origin: str) -> str:
    """Return the data set's name, with its origin unless that is the original."""
    name = benchmark.title
    return name if origin == "original" else f"{name} ({origin})"

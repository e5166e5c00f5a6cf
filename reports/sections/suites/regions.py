"""The gallery of decision regions over a plane, one panel per method."""

from dataclasses import dataclass

import numpy as np

from bnnbench.engine.records.record import Record
from bnnbench.engine.store.store import Store
from bnnbench.methods.predictions.base import HasProbabilities
from bnnbench.reports.figures.canvas import Drawing
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.predictions.points import plane_of
from bnnbench.reports.read.predictions.readable import prediction_of
from bnnbench.reports.sections.fits import first_runs
from bnnbench.reports.sections.suites import regions_figure

NAME = "plane"
"""The condition `bnnbench.datasets.conditions.plane.Plane`."""


@dataclass(frozen=True)
class Regions:
    """One fold's predictions over the plane, one drawing per method."""

    drawings: tuple[Drawing, ...]
    fold: int

    @property
    def explanation(self) -> str:
        """The text above the figures."""
        return (
            f"Fold {self.fold}, seed 0. Blue circles are training points of class 0, orange "
            "triangles those of class 1. The background has the colour of the class that the "
            "method finds more likely; the stronger the colour, the more confident the method. On "
            "the line both classes are equally likely. Far from all points, a strong colour is "
            "confidence without data."
        )


def region_drawings(store: Store, benchmark: Benchmark, name: str, where: str) -> Regions | None:
    """Return the regions of the first fold; None if there is no plane with two classes."""
    fold, begun = first_runs(benchmark)
    drawings = []
    for k, (method, record) in enumerate(begun.items()):
        if (
            record.outcome.status != "completed"
            or NAME not in record.circumstances.condition_origins
        ):
            continue
        points, probability = plane_of(store, record), _probability(store, record)
        if points is None or probability is None:
            continue
        if len(probability) != len(points.first) * len(points.second):
            continue  # predictions on another grid; the page names damaged runs elsewhere
        drawings.append(
            regions_figure.draw(
                *(method, points, probability, f"{name}-plane-{k}", where, _caption(record))
            )
        )
    return Regions(tuple(drawings), fold) if drawings else None


def _probability(store: Store, record: Record) -> np.ndarray | None:
    """Return the probability of class 1 at each point; None if unreadable or not of two classes."""
    prediction, _ = prediction_of(store, record, NAME) or (None, None)
    if not isinstance(prediction, HasProbabilities):
        return None
    probabilities = prediction.mixture_log_probs.double().exp().numpy()
    return probabilities[:, 1] if probabilities.shape[1] == len(regions_figure.CLASSES) else None


def _caption(record: Record) -> str:
    auroc = record.outcome.scores.get(NAME, {}).get("auroc_ood")
    return "" if auroc is None else f"AUROC of far points {auroc:.3f}"

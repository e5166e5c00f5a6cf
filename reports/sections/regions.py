"""The gallery of decision regions over a plane, one panel for each method."""

from dataclasses import dataclass

import numpy as np

from bnnbench.methods.predictions.base import HasProbabilities
from bnnbench.reports.figures import regions
from bnnbench.reports.figures.canvas import Drawing
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.merge import store_of
from bnnbench.reports.sections.fits import UNREADABLE, first_runs
from bnnbench.suites.engine.store.planes import PlanePoints, plane_points
from bnnbench.suites.engine.store.record import Record
from bnnbench.suites.engine.store.store import Store

NAME = "plane"
"""The condition `bnnbench.datasets.conditions.plane.Plane`."""


@dataclass(frozen=True)
class Regions:
    """One fold's predictions over the plane, a drawing for each method."""

    drawings: tuple[Drawing, ...]
    fold: int

    @property
    def explanation(self) -> str:
        """What is drawn, in words."""
        return (
            f"Fold {self.fold}, seed 0: training points (class 0 blue circles, class 1 orange "
            "triangles) and the class that each method finds likelier, the fuller the colour the "
            "surer; the line is where both are equally likely. Far from all points, colour is "
            "confidence without data."
        )


def region_drawings(store: Store, benchmark: Benchmark, name: str, where: str) -> Regions | None:
    """Return the regions of the first fold, or None where there is no plane of two classes."""
    fold, begun = first_runs(benchmark)
    drawings = []
    for k, (method, record) in enumerate(begun.items()):
        if record.status != "completed" or NAME not in record.condition_origins:
            continue
        own = store_of(store, record.key)
        points, probability = _points(own, record), _probability(own, record)
        if points is None or probability is None:
            continue
        if len(probability) != len(points.first) * len(points.second):
            continue  # of another grid; the page names damaged runs elsewhere
        drawings.append(
            regions.draw(
                *(method, points, probability, f"{name}-plane-{k}", where, _caption(record))
            )
        )
    return Regions(tuple(drawings), fold) if drawings else None


def _points(store: Store, record: Record) -> PlanePoints | None:
    try:
        return plane_points(store, record)
    except UNREADABLE:
        return None


def _probability(store: Store, record: Record) -> np.ndarray | None:
    """Return the probability of class 1 at each point; None if unreadable or of other classes."""
    try:
        prediction = store.predictions(record.key)[NAME][0]
    except UNREADABLE:
        return None
    if not isinstance(prediction, HasProbabilities):
        return None
    probabilities = prediction.mixture_log_probs.double().exp().numpy()
    return probabilities[:, 1] if probabilities.shape[1] == len(regions.CLASSES) else None


def _caption(record: Record) -> str:
    auroc = record.scores.get(NAME, {}).get("auroc_ood")
    return "" if auroc is None else f"AUROC of far points {auroc:.3f}"

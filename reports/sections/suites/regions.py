"""The gallery of decision regions over a plane, one panel per method."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from matplotlib.colors import to_rgb

from bnnbench.engine.records.record import Record
from bnnbench.engine.store.data_points import PlanePoints
from bnnbench.engine.store.store import Store
from bnnbench.methods.predictions.base import HasProbabilities
from bnnbench.reports.figures.canvas import INK, PAPER, Drawing, drawing, svg
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.predictions.points import plane_of
from bnnbench.reports.read.predictions.readable import prediction_of
from bnnbench.reports.sections.fits import first_runs
from bnnbench.reports.style.palette import BLUE, ORANGE

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


LEVELS = 20
"""Number of shades from one class to the other: bands of equal probability keep files small."""

CLASSES = ((BLUE, "o"), (ORANGE, "^"))
"""Colour and marker of each class."""


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
            draw_regions(
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
    return probabilities[:, 1] if probabilities.shape[1] == len(CLASSES) else None


def _caption(record: Record) -> str:
    auroc = record.outcome.scores.get(NAME, {}).get("auroc_ood")
    return "" if auroc is None else f"AUROC of far points {auroc:.3f}"


def draw_regions(
    method: str,
    points: PlanePoints,
    probability: Float[np.ndarray, " points"],
    identifier: str,
    where: str,
    caption: str,
) -> Drawing:
    """Return the plane in the colours of the classes, transparent where they are equally likely."""
    image = points.image(probability)
    low, high = points.train_inputs.min(0), points.train_inputs.max(0)
    x, y = points.first, points.second
    half = (x[1] - x[0]) / 2, (y[1] - y[0]) / 2
    extent = (x[0] - half[0], x[-1] + half[0], y[0] - half[1], y[-1] + half[1])
    with drawing(1.9, left=0.46) as figure:
        axes = figure.subplots()
        axes.imshow(shades(image), extent=extent, origin="lower", interpolation="none",
                    aspect="equal")  # fmt: skip
        if image.min() < 0.5 < image.max():
            axes.contour(x, y, image, levels=[0.5], colors=[INK], linewidths=0.9)
        for label, (colour, marker) in enumerate(CLASSES):
            class_points = points.train_inputs[points.train_targets == label]
            axes.plot(*class_points.T, color=colour, marker=marker, linestyle="", markersize=3,
                      markeredgecolor=PAPER, markeredgewidth=0.5)  # fmt: skip
        axes.set(xlabel="first input", ylabel="second input", xlim=extent[:2], ylim=extent[2:])
        axes.locator_params(axis="both", nbins=5)
        doubtful = float(np.mean(np.abs(probability - 0.5) < 0.4))
        description = (
            f"{method} on {where}: probability of class 1 over the plane, from "
            f"{image.min():.2f} to {image.max():.2f}; between 0.1 and 0.9 in "
            f"{100 * doubtful:.0f} % of it. Training points lie between "
            f"({low[0]:.1f}, {low[1]:.1f}) and ({high[0]:.1f}, {high[1]:.1f})."
        )
        return Drawing(svg(figure, identifier, description), method, caption)


def shades(probability: Float[np.ndarray, "lines columns"]) -> Float[np.ndarray, "lines columns 4"]:
    """Return the colour of the more likely class; the more likely, the more opaque."""
    level = np.clip(np.round(LEVELS * np.nan_to_num(probability, nan=0.5)), 0, LEVELS) / LEVELS
    colours = np.array([to_rgb(colour) for colour, _ in CLASSES])
    opacity = 0.85 * np.abs(2 * level - 1)
    return np.concatenate([colours[(level > 0.5).astype(int)], opacity[..., None]], axis=-1)

"""The probability of one of two classes over a plane, with the training points."""

import numpy as np
from jaxtyping import Float
from matplotlib.colors import to_rgb

from bnnbench.engine.store.data_points.planes import PlanePoints
from bnnbench.reports.figures.canvas import INK, PAPER, Drawing, drawing, svg
from bnnbench.reports.style.palette import BLUE, ORANGE

LEVELS = 20
"""Number of shades from one class to the other: bands of equal probability keep files small."""

CLASSES = ((BLUE, "o"), (ORANGE, "^"))
"""Colour and marker of each class."""


def draw(
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

"""Methods in rows, the best first: a mark at each one's value, in its interval."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from bnnbench.reports.figures.canvas import FAINT, INK, OWN, PAPER, Drawing, drawing
from bnnbench.reports.figures.labels import cut
from bnnbench.reports.figures.methods import gid, shared
from bnnbench.reports.style.numbers import typographic
from bnnbench.reports.style.palette import Style

WIDTH, NARROW, ROW, LETTER = 4.6, 3.6, 0.2, 0.062
"""Sizes in inches; narrow figures are legible on a phone."""
FAR = 4.0
"""A value is written at the edge if it is this many times as far from the first as the median."""


@dataclass(frozen=True)
class Row:
    """A method's value with the ends of its interval."""

    method: str
    centre: float
    low: float
    high: float
    hollow: bool = False


def height_of(rows: int) -> float:
    """Return the height of a drawing in inches."""
    return 0.62 + ROW * rows


def left_of(rows: Sequence[Row]) -> float:
    """Return the width of the names in inches."""
    return 0.2 + LETTER * max(len(cut(row.method)) for row in rows)


def in_rows(
    axes: Axes, rows: Sequence[Row], styles: Mapping[str, Style], span: Sequence[float]
) -> None:
    """Draw the rows, each on a faint line over the span of the values."""
    for k, row in enumerate(rows):
        marker, pen = styles[row.method].marker, _pen(row.method)
        axes.plot(span, [k, k], color=FAINT, linewidth=0.5, zorder=0)
        axes.plot([row.low, row.high], [k, k], linewidth=1.2, **pen)
        face: dict[str, Any] = {"markerfacecolor": PAPER} if row.hollow else {}
        axes.plot([row.centre], [k], marker=marker, markersize=5, **pen, **face)
    axes.set(ylim=(len(rows) - 0.4, -0.6), yticks=range(len(rows)))
    names = axes.set_yticklabels([cut(row.method) for row in rows])
    for text, row in zip(names, rows, strict=True):
        text.set_gid(gid(row.method, "row"))
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def draw_values(
    rows: Sequence[Row], styles: Mapping[str, Style], identifier: str, label: str
) -> Drawing:
    """Return the drawing of values in one unit; those far behind are written at the edge."""
    low, high = _limits(rows)
    with drawing(height_of(len(rows)), left=left_of(rows), width=NARROW, top=0.2) as figure:
        axes = figure.subplots()
        in_rows(axes, rows, styles, (low, high))
        axes.set(xlim=(low, high), xlabel=label)
        for k, row in enumerate(rows):
            if not low <= row.centre <= high:
                right = row.centre > high
                text = f"{row.centre:.3g} ▸" if right else f"◂ {row.centre:.3g}"
                edge, side = (high, "right") if right else (low, "left")
                axes.text(edge, k, typographic(text), ha=side, va="center", color=INK, fontsize=7)
        listed = "; ".join(f"{row.method} {row.centre:.4g}" for row in rows)
        order = [row.method for row in rows]
        return shared(figure, identifier, f"{label}: {listed}.", styles, order)


def _pen(method: str) -> dict[str, Any]:
    return {"color": OWN, "gid": gid(method)}


def _limits(rows: Sequence[Row]) -> tuple[float, float]:
    """Return limits that one value, or one wide interval, does not stretch."""
    centres = np.array([row.centre for row in rows])
    near = centres[_is_near(centres)]
    ends = np.array([(row.low, row.high) for row in rows])[_is_near(centres)]
    span = float(np.ptp(near)) or float(np.ptp(ends)) or 1.0
    low = max(ends.min(), near.min() - span)
    high = min(ends.max(), near.max() + span)
    return float(low - 0.03 * span), float(high + 0.03 * span)


def _is_near(centres: np.ndarray) -> np.ndarray:
    gaps = np.abs(centres - centres[0])
    return gaps <= max(FAR * float(np.median(gaps)), 1e-12)

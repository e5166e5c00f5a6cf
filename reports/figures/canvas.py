"""A small figure, and its SVG made fit to stand inside a page."""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import Any

import matplotlib as mpl
import numpy as np
from jaxtyping import Shaped
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path

INK, FAINT, PAPER = "#010203", "#040506", "#070809"
"""Stand for the page's colours, which differ by day and night."""
PAGE_COLOURS = {INK: "var(--muted)", FAINT: "var(--rule)", PAPER: "var(--paper)"}

WIDTH = 2.3
"""Inches; the page scales it."""

SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "",
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": True,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.major.size": 3,
    "ytick.major.size": 3,
    "lines.linewidth": 1.6,
    "lines.solid_capstyle": "round",
    "path.simplify": True,
}


@dataclass(frozen=True)
class Drawing:
    """A figure on the page: its SVG, the heading above it and what it shows in words."""

    svg: Markup
    heading: str
    caption: str = ""


@contextmanager
def drawing(
    height: float, left: float = 0.42, width: float = WIDTH, top: float = 0.06
) -> Iterator[Figure]:
    """Give an empty figure in the page's style; sizes and margins in inches.

    Figures of one gallery are equally wide and their margins fixed, so that axes align.
    """
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(width, height))
        FigureCanvasSVG(figure)
        figure.subplots_adjust(
            left=left / width, right=1 - 0.1 / width, bottom=0.36 / height, top=1 - top / height
        )
        yield figure


def diagonal(axes: Axes) -> None:
    """Draw the line of perfect agreement on the unit square, and nothing beyond."""
    axes.plot([0, 1], [0, 1], color=FAINT, linewidth=1, zorder=0)
    axes.set(xlim=(0, 1), ylim=(0, 1), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])


def dots(
    axes: Axes, x: Shaped[np.ndarray, " points"], y: Shaped[np.ndarray, " points"],
    size: float, alpha: float = 1.0, zorder: float = 2,
) -> None:  # fmt: skip
    """Draw points in the page's ink, as wide as `size`, as one path of dashes without length.

    Markers would be an element each, ten times as long. Limits of the axes stay as they are.
    """
    ends = np.column_stack([x, y]).repeat(2, axis=0)
    path = Path(ends, np.tile([Path.MOVETO, Path.LINETO], len(ends) // 2))
    path.should_simplify = False  # it would leave such dashes out
    axes.add_artist(PathPatch(path, facecolor="none", edgecolor=INK, linewidth=size,
                              capstyle="round", alpha=alpha, zorder=zorder))  # fmt: skip


def svg(figure: Figure, identifier: str, description: str) -> Markup:
    """Return the figure as an SVG element that scales, speaks and shares no id.

    `identifier` must be unique on the page; `description` is what a screen reader says.
    """
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', text))

    def renamed(match: re.Match[str]) -> str:
        return f' id="{identifier}-{match[1]}"' if match[1] in used else ""

    text = re.sub(r'\s+id="([^"]+)"', renamed, text)
    text = re.sub(r'(href="#|url\(#)', rf"\g<1>{identifier}-", text)
    for stand_in, colour in PAGE_COLOURS.items():
        text = text.replace(stand_in, colour)
    text = re.sub(r"<[^>]+>", lambda tag: re.sub(r"(\d\.\d\d)\d+", r"\1", tag[0]), text)
    text = re.sub(r"\n\s*", "\n", text)
    text = re.sub(r"M (\S+ \S+) \nL \1 (?=\n)", r"M \1h0", text)
    viewed = re.search(r'viewBox="[^"]+"', text)
    assert viewed, "matplotlib writes a viewBox"
    opening = f'<svg {viewed[0]} role="img" aria-label="{escape(description)}">'
    return Markup(opening + text[text.index(">", text.index("<svg")) + 1 :])

"""Small figures and their SVG for a page."""

import io
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
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
"""Placeholders for the page's colours, which differ between the light and the dark theme."""
OWN = "#0a0b0c"
"""A placeholder for the colour of the method that an artist's group belongs to."""
PAGE_COLOURS = {
    **{INK: "var(--muted)", FAINT: "var(--rule)", PAPER: "var(--paper)"},
    OWN: "currentColor",
}

WIDTH = 2.3
"""Width of a figure in inches; the page scales it."""

SVG_DPI = 72
"""Pixels per inch of every SVG; positions computed before a figure is written depend on it."""

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
    """A figure on the page: its SVG, its heading and its caption."""

    svg: Markup
    heading: str
    caption: str = ""
    methods: tuple[str, ...] = ()
    """The methods in a shared figure, in the palette's order; empty for a figure of one method."""
    coloured: tuple[str, ...] = ()
    """The coloured methods; the others are grey until a reader points at one."""

    def under(self, heading: str, caption: str = "") -> "Drawing":
        """Return the drawing with a heading and a caption."""
        return replace(self, heading=heading, caption=caption)

    def again(self, prefix: str) -> "Drawing":
        """Return the drawing with a prefix to its ids, to stand on a page a second time."""
        text = re.sub(r'( id="|href="#|url\(#)', rf"\g<1>{prefix}-", self.svg)
        return replace(self, svg=Markup(text))


@contextmanager
def drawing(
    height: float, left: float = 0.42, width: float = WIDTH, top: float = 0.06
) -> Iterator[Figure]:
    """Yield an empty figure in the page's style; sizes and margins are in inches.

    Figures of one gallery have the same width and margins, so that their axes align.
    """
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(width, height), dpi=SVG_DPI)
        FigureCanvasSVG(figure)
        figure.subplots_adjust(
            left=left / width, right=1 - 0.1 / width, bottom=0.36 / height, top=1 - top / height
        )
        yield figure


@contextmanager
def gridded(height: float = 2.0) -> Iterator[tuple[Figure, Axes]]:
    """Yield a figure with a faint grid, and its axes."""
    with drawing(height, left=0.52) as figure:
        axes = figure.subplots()
        axes.grid(True, color=FAINT, linewidth=0.5, alpha=0.6)
        axes.set_axisbelow(True)
        yield figure, axes


def diagonal(axes: Axes) -> None:
    """Draw the diagonal of perfect agreement on the unit square."""
    axes.plot([0, 1], [0, 1], color=FAINT, linewidth=1, zorder=0)
    axes.set(xlim=(0, 1), ylim=(0, 1), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])


def dots(
    axes: Axes, x: Shaped[np.ndarray, " points"], y: Shaped[np.ndarray, " points"],
    size: float, alpha: float = 1.0, zorder: float = 2,
) -> None:  # fmt: skip
    """Draw points of diameter `size` in the page's ink, as one path of dashes of length zero.

    Separate markers would make the file ten times as long. The limits of the axes stay unchanged.
    """
    ends = np.column_stack([x, y]).repeat(2, axis=0)
    path = Path(ends, np.tile([Path.MOVETO, Path.LINETO], len(ends) // 2))
    path.should_simplify = False  # simplification would remove such dashes
    axes.add_artist(PathPatch(path, facecolor="none", edgecolor=INK, linewidth=size,
                              capstyle="round", alpha=alpha, zorder=zorder))  # fmt: skip


FARTHEST = 1e100
"""Values beyond this are not drawn, so that a damaged record cannot break a page."""


def keep_in_reach(figure: Figure) -> None:
    """Bound the limits of all axes: ticks further out would overflow."""
    for axes in figure.axes:
        for limits, limit in ((axes.get_xlim(), axes.set_xlim), (axes.get_ylim(), axes.set_ylim)):
            low, high = np.clip(limits, -FARTHEST, FARTHEST)
            if (low, high) != limits:
                limit(float(low), float(high))


def svg(
    figure: Figure, identifier: str, description: str, groups: Mapping[str, str] | None = None
) -> Markup:
    """Return the figure as a scalable SVG element with a description and unique ids.

    `identifier` must be unique on the page; screen readers read the `description`. An artist whose
    gid is in `groups` becomes an element with these attributes (already escaped) instead of an id.
    """
    groups = groups or {}
    keep_in_reach(figure)
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', text))

    def renamed(match: re.Match[str]) -> str:
        if match[1] in groups:
            return f" {groups[match[1]]}"
        return f' id="{identifier}-{match[1]}"' if match[1] in used else ""

    text = re.sub(r'\s+id="([^"]+)"', renamed, text)
    text = re.sub(r'(href="#|url\(#)', rf"\g<1>{identifier}-", text)
    for stand_in, colour in PAGE_COLOURS.items():
        text = text.replace(stand_in, colour)
    text = re.sub(r"<[^>]+>", lambda tag: re.sub(r"(\d\.\d\d)\d+", r"\1", tag[0]), text)
    text = re.sub(r"\n\s*", "\n", text)
    text = re.sub(r' transform="rotate\(-0 [^"]*"', "", text)
    text = re.sub(r"M (\S+ \S+) \nL \1 (?=\n)", r"M \1h0", text)
    viewed = re.search(r'viewBox="[^"]+"', text)
    assert viewed, "matplotlib writes a viewBox"
    opening = f'<svg {viewed[0]} role="img" aria-label="{escape(description)}">'
    return Markup(opening + text[text.index(">", text.index("<svg")) + 1 :])

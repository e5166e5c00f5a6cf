"""Method names next to the curves and marks of a figure, if there is room."""

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
from jaxtyping import Bool, Float
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D
from matplotlib.transforms import Bbox, BboxBase

from bnnbench.datasets.reading.third_party_text import legible
from bnnbench.reports.figures.canvas import OWN

SIZE = 7
"""Font size in points."""
LONGEST = 28
"""Maximum number of characters; longer names are cut."""
GAP, STEP = 4.0, 4.0
"""Distance from a name to its anchor, and between anchors along a line, in figure pixels."""
FAR = 1e5
"""Positions are clipped to this number of pixels."""
PLACES = 24
"""Maximum number of anchors for a name along a line."""
SIDES = [side for side in product((-1, 0, 1), (-1, 0, 1)) if side != (0, 0)]
HORIZONTAL = {-1: "right", 0: "center", 1: "left"}
VERTICAL = {-1: "top", 0: "center", 1: "bottom"}
MARGIN = 6.0
"""Minimum horizontal distance between two names, in figure pixels."""
ON_REST, ON_SELF, ON_OTHER = 1.0, 3.0, 8.0
"""Costs per covered point: of an unlabelled method, the method itself, another labelled one."""
EARLY = 6.0
"""Extra cost of the start of a line over its end: lines are often close together at the start."""


def cut(name: str) -> str:
    """Return a name as it is drawn, shortened if it is long."""
    name = legible(name)
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def label(axes: Axes, artists: Mapping[str, Sequence[Artist]], gids: Mapping[str, str]) -> None:
    """Label the methods in `gids` next to their artists; each text has its method's gid.

    A name is placed inside the axes where it covers the fewest points, and omitted if it fits
    nowhere.
    """
    axes.get_xlim()  # computes the limits, which positions depend on
    frame = axes.get_window_extent()
    points = {method: _points(axes, frame, drawn) for method, drawn in artists.items()}
    lines = {
        method: _points(axes, frame, [a for a in drawn if isinstance(a, Line2D)])
        for method, drawn in artists.items()
    }
    taken: list[Bbox] = []
    for method, name in gids.items():
        text = axes.text(0, 0, cut(method), color=OWN, fontsize=SIZE, gid=name, zorder=5)
        extent = text.get_window_extent()
        best, least = None, np.inf
        for place, side, cost in _candidates(lines[method]):
            box = _box(place, side, extent.width, extent.height)
            if cost >= least or not _fits(box, frame, taken):
                continue
            cost += ON_SELF * _covered(box, points[method])
            for other, covered in points.items():
                weight = ON_OTHER if other in gids else ON_REST
                cost += weight * _covered(box, covered) if other != method else 0.0
            if cost < least:
                best, least = (place, side), cost
        if best is None:
            text.remove()
            continue
        place, (across, up) = best
        taken.append(_box(place, (across, up), extent.width, extent.height))
        at = axes.transAxes.inverted().transform(place + GAP * np.array([across, up]))
        text.set(transform=axes.transAxes, position=at, ha=HORIZONTAL[across], va=VERTICAL[up])


def _points(
    axes: Axes, frame: BboxBase, artists: Sequence[Artist]
) -> Float[np.ndarray, "points 2"]:
    """Return the points on lines and marks, in pixels, inside the axes."""
    places = [np.empty((0, 2))]
    for artist in artists:
        if isinstance(artist, Line2D):
            paths = [artist.get_transform().transform(artist.get_xydata())]
            joined = artist.get_linestyle() != "None"
        elif isinstance(artist, LineCollection):
            paths = [axes.transData.transform(segment) for segment in artist.get_segments()]
            joined = True
        else:
            continue
        for path in paths:
            finite = np.clip(path[np.isfinite(path).all(1)], -FAR, FAR)
            places.append(_filled(finite) if joined else finite)
    points = np.concatenate(places)
    return points[_inside(points, frame)]


def _filled(path: Float[np.ndarray, "corners 2"]) -> Float[np.ndarray, "points 2"]:
    """Return points along the straight lines between corners."""
    if len(path) < 2:
        return path
    lengths = np.hypot(*np.diff(path, axis=0).T)
    along = np.concatenate([[0], np.cumsum(lengths)])
    at = np.linspace(0, along[-1], min(1000, int(along[-1] / STEP) + 2))
    return np.column_stack([np.interp(at, along, path[:, k]) for k in (0, 1)])


def _candidates(
    points: Float[np.ndarray, "points 2"],
) -> list[tuple[np.ndarray, tuple[int, int], float]]:
    """Return candidate positions: anchor, side and cost, the cheapest first."""
    chosen = np.unique(np.linspace(len(points) - 1, 0, PLACES).round().astype(int))[::-1]
    last = max(1, len(points) - 1)
    return [
        (points[k], side, EARLY * (1 - k / last))
        for k in (chosen if len(points) else ())
        for side in SIDES
    ]


def _box(place: np.ndarray, side: tuple[int, int], width: float, height: float) -> Bbox:
    across, up = side
    left = place[0] + GAP * across - width * (1 - across) / 2
    bottom = place[1] + GAP * up - height * (1 - up) / 2
    return Bbox.from_bounds(left, bottom, width, height)


def _fits(box: Bbox, frame: BboxBase, taken: Sequence[Bbox]) -> bool:
    (left, low), (right, high) = frame.min, frame.max
    within = bool(left <= box.x0 and box.x1 <= right and low <= box.y0 and box.y1 <= high)
    return within and not any(box.padded(MARGIN, 0).overlaps(other) for other in taken)


def _inside(points: Float[np.ndarray, "points 2"], box: BboxBase) -> Bool[np.ndarray, " points"]:
    low, high = np.array(box.min) - 1, np.array(box.max) + 1
    return np.asarray(((points >= low) & (points <= high)).all(1))


def _covered(box: Bbox, points: Float[np.ndarray, "points 2"]) -> int:
    return int(_inside(points, box).sum())

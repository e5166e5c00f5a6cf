"""The outline of each family's mark; hue is not enough to distinguish thirteen families."""

import math
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from bnnbench.methods.card import Family
from bnnbench.reports.style.palette import MARKERS, Style

RADIUS = 4.6
"""Half of the width of an outline, around the origin."""


def _closed(corners: Sequence[tuple[float, float]]) -> str:
    path = "L".join(f"{x:.2f} {y:.2f}" for x, y in corners)
    return f"M{path}Z"


def _scaled(corners: Sequence[tuple[float, float]]) -> str:
    return _closed([(RADIUS * x, RADIUS * y) for x, y in corners])


def _star(points: int, outer: float, inner: float) -> str:
    angles = [math.pi * k / points for k in range(2 * points)]
    radii = [inner if k % 2 else outer for k in range(2 * points)]
    return _scaled(
        [(r * math.sin(a), -r * math.cos(a)) for a, r in zip(angles, radii, strict=True)]
    )


_ARM = 0.38
_PLUS = [
    *((-_ARM, -1), (_ARM, -1), (_ARM, -_ARM), (1, -_ARM), (1, _ARM), (_ARM, _ARM)),
    *((_ARM, 1), (-_ARM, 1), (-_ARM, _ARM), (-1, _ARM), (-1, -_ARM), (-_ARM, -_ARM)),
]
_TURN = math.sqrt(0.5)
_CROSS = [(_TURN * (x - y), _TURN * (x + y)) for x, y in _PLUS]

_ARC = f"A{RADIUS} {RADIUS} 0 1 0"

OUTLINES: Mapping[Family, str] = {
    "point estimates": f"M-{RADIUS} 0{_ARC} {RADIUS} 0{_ARC} -{RADIUS} 0Z",
    "ensembles": _scaled([(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
    "Laplace": _scaled([(0, -1), (1.05, 0.85), (-1.05, 0.85)]),
    "function space": _scaled([(0, 1), (1.05, -0.85), (-1.05, -0.85)]),
    "variational": _scaled([(0, -1.15), (1.15, 0), (0, 1.15), (-1.15, 0)]),
    "trajectories": _scaled([(1, 0), (-0.85, 1.05), (-0.85, -1.05)]),
    "message passing": _scaled([(1.1 * x, 1.1 * y) for x, y in _PLUS]),
    "sampling": _star(5, 1.2, 0.5),
    "Gaussian processes": _star(3, 1.05, 1.05),
    "moments": _scaled([(1.1 * x, 1.1 * y) for x, y in _CROSS]),
    "not a network": _scaled([(-1.1, 0.8), (-0.55, -0.8), (0.55, -0.8), (1.1, 0.8)]),
    "pretrained on tables": _star(4, 1.25, 0.5),
    "other": _scaled([(-1, -0.4), (1, -0.4), (1, 0.4), (-1, 0.4)]),
}
"""Family → path of an SVG."""


def outline(family: Family) -> str:
    """Return the outline of a family's mark."""
    return OUTLINES.get(family, OUTLINES["other"])


def swatch(style: Style) -> Markup:
    """Return the legend symbol of a method's line in the figures."""
    dash = " ".join(f"{1.4 * length:g}" for length in style.dash)
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    shapes = {
        "o": '<circle cx="14" cy="6" r="3.2"/>',
        "s": '<rect x="11" y="3" width="6" height="6"/>',
        "^": '<path d="M14 2.2 17.6 9H10.4z"/>',
        "D": '<path d="M14 1.8 18.2 6 14 10.2 9.8 6z"/>',
        "v": '<path d="M14 9.8 17.6 3H10.4z"/>',
        "P": '<path d="M12.8 2.2h2.4v2.6h2.6v2.4h-2.6v2.6h-2.4V7.2h-2.6V4.8h2.6z"/>',
        "X": '<path d="M12 2.3 14 4.3 16 2.3 17.7 4 15.7 6l2 2L16 9.7l-2-2-2 2L10.3 8l2-2-2-2z"/>',
        "p": '<path d="M14 2.2 17.8 5 16.3 9.5h-4.6L10.2 5z"/>',
    }
    assert set(shapes) == set(MARKERS)
    return Markup(
        f'<svg class="swatch" viewBox="0 0 28 12" aria-hidden="true" color="{style.colour}" '
        f'fill="currentColor"><path d="M0 6H28" stroke="currentColor" stroke-width="2"{dashed}/>'
        f"{shapes[style.marker]}</svg>"
    )

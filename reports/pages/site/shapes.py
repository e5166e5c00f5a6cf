"""The outline of each family's mark; hue is not enough to distinguish eleven families."""

import math
from collections.abc import Mapping, Sequence

from bnnbench.methods.card import Family

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
    "other": _scaled([(-1, -0.4), (1, -0.4), (1, 0.4), (-1, 0.4)]),
}
"""Family → path of an SVG."""

"""The plasma fractal, whose details are smaller copies of the whole."""

import numpy as np
from jaxtyping import Float

from bnnbench.datasets.corruptions.levels import SIDE, Planes

HEIGHT = 100.0
"""Height of the first scale."""


def _places(step: int) -> tuple[tuple[slice, slice], ...]:
    """Return the points to fill in between corners `step` apart: middles, then sides."""
    on, between = slice(0, None, step), slice(step // 2, None, step)
    return (between, between), (on, between), (between, on)


STEPS = tuple(SIDE >> scale for scale in range(5))
DRAWS = sum(3 * (SIDE // step) ** 2 for step in STEPS)
"""The number of draws in [-1, 1) for one fractal."""


def plasma(uniform: Float[np.ndarray, f"points {DRAWS}"], decay: float) -> Planes:
    """Return fractals on a torus, each from 0 to 1.

    From each scale to the next the height h falls by `decay`; the added values are h times a number
    in [-h, h), and so fall by the square of `decay`.
    """
    map_ = np.zeros((len(uniform), SIDE, SIDE))
    used, height = 0, HEIGHT
    for step in STEPS:
        count = SIDE // step
        corners = map_[:, ::step, ::step]
        for kind, (rows, columns) in enumerate(_places(step)):
            draws = uniform[:, used : used + count**2].reshape(-1, count, count)
            used += count**2
            mean = _mean_around(map_, corners, step, kind)
            map_[:, rows, columns] = mean + height * (height * draws)
        height /= decay
    map_ -= map_.min((1, 2), keepdims=True)
    map_ /= map_.max((1, 2), keepdims=True)
    return map_


def _mean_around(map_: np.ndarray, corners: np.ndarray, step: int, kind: int) -> np.ndarray:
    """Return the mean of the four known values around each middle or side."""
    if kind == 0:
        rows = corners + np.roll(corners, -1, 1)
        return (rows + np.roll(rows, -1, 2)) / 4
    middles = map_[:, step // 2 :: step, step // 2 :: step]
    across, along_axis = (1, 2) if kind == 1 else (2, 1)
    return (
        (middles + np.roll(middles, 1, across)) + (corners + np.roll(corners, -1, along_axis))
    ) / 4

"""The plasma fractal, whose detail is a smaller copy of its whole."""

import numpy as np
from jaxtyping import Float

from bnnbench.datasets.corruptions.levels import SIDE, Planes

HEIGHT = 100.0
"""Of the first scale."""


def _places(step: int) -> tuple[tuple[slice, slice], ...]:
    """Return what is filled in between corners `step` apart: middles, then sides."""
    on, between = slice(0, None, step), slice(step // 2, None, step)
    return (between, between), (on, between), (between, on)


STEPS = tuple(SIDE >> scale for scale in range(5))
DRAWS = sum(3 * (SIDE // step) ** 2 for step in STEPS)
"""How many numbers in [-1, 1) a fractal takes."""


def plasma(uniform: Float[np.ndarray, f"points {DRAWS}"], decay: float) -> Planes:
    """Return fractals on a torus, each from 0 to 1.

    From each scale to the next the height h falls by `decay`; what is added is h times a
    number in [-h, h), so that it falls by the square.
    """
    map_ = np.zeros((len(uniform), SIDE, SIDE))
    used, height = 0, HEIGHT
    for step in STEPS:
        many = SIDE // step
        corners = map_[:, ::step, ::step]
        for place, (rows, columns) in enumerate(_places(step)):
            draws = uniform[:, used : used + many**2].reshape(-1, many, many)
            used += many**2
            mean = _mean_around(map_, corners, step, place)
            map_[:, rows, columns] = mean + height * (height * draws)
        height /= decay
    map_ -= map_.min((1, 2), keepdims=True)
    map_ /= map_.max((1, 2), keepdims=True)
    return map_


def _mean_around(map_: np.ndarray, corners: np.ndarray, step: int, place: int) -> np.ndarray:
    """Return the mean of the four known values around each middle, or around each side."""
    if place == 0:
        rows = corners + np.roll(corners, -1, 1)
        return (rows + np.roll(rows, -1, 2)) / 4
    middles = map_[:, step // 2 :: step, step // 2 :: step]
    across, along = (1, 2) if place == 1 else (2, 1)
    return ((middles + np.roll(middles, 1, across)) + (corners + np.roll(corners, -1, along))) / 4

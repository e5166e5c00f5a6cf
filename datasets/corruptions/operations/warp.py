"""Images sampled between their pixels."""

import numpy as np
from jaxtyping import Float, Int

from bnnbench.datasets.corruptions.levels import SIDE
from bnnbench.datasets.corruptions.operations.filters import Border

POINTS = np.array([(26, 26), (26, 6), (6, 6)], np.float32)
"""Column and row of the three points that define an affine map."""


def affine_map(
    shifts: Float[np.ndarray, "points 3 2"],
) -> Float[np.ndarray, "points 2 3"]:
    """Return the inverses of the maps that move `POINTS` by `shifts`.

    A map applied to (column, row, 1) of the output gives the input position.
    """
    moved = (POINTS + shifts.astype(np.float32)).astype(np.float64)
    source = np.concatenate([moved, np.ones((len(moved), 3, 1))], axis=2)
    target = np.broadcast_to(POINTS.astype(np.float64), moved.shape)
    return np.linalg.solve(source, target).swapaxes(1, 2)


def affine(
    images: Float[np.ndarray, "points 32 32 channels"],
    maps: Float[np.ndarray, "points 2 3"],
    border: Border,
) -> Float[np.ndarray, "points 32 32 channels"]:
    """Return the images transformed by the maps."""
    positions = np.arange(SIDE)
    (xx, xy, x), (yx, yy, y) = maps.transpose(1, 2, 0)[..., None, None]
    column = xx * positions + xy * positions[:, None] + x
    row = yx * positions + yy * positions[:, None] + y
    return sampled(images, row, column, border)


def sampled(
    images: Float[np.ndarray, "points 32 32 channels"],
    row: Float[np.ndarray, "points 32 32"],
    column: Float[np.ndarray, "points 32 32"],
    border: Border,
) -> Float[np.ndarray, "points 32 32 channels"]:
    """Return the images' values at rows and columns, interpolated bilinearly in float64."""
    top, left = np.floor(row), np.floor(column)
    below, right = (row - top)[..., None], (column - left)[..., None]
    rows = [_inside(top.astype(np.intp) + offset, border) * SIDE for offset in (0, 1)]
    columns = [_inside(left.astype(np.intp) + offset, border) for offset in (0, 1)]
    first = np.arange(len(images))[:, None, None] * SIDE**2
    flat = images.reshape(-1, images.shape[-1])
    total = np.zeros(images.shape)
    for down in (0, 1):
        for across in (0, 1):
            weight = (below if down else 1 - below) * (right if across else 1 - right)
            corner = flat.take(first + rows[down] + columns[across], axis=0)
            total += corner * weight.repeat(images.shape[-1], axis=-1)
    return total.astype(images.dtype)


def _inside(index: Int[np.ndarray, "*shape"], border: Border) -> Int[np.ndarray, "*shape"]:
    """Return the pixel whose value is used at a position that may be outside."""
    if border == "nearest":
        return index.clip(0, SIDE - 1)
    period = 2 * SIDE if border == "reflect" else 2 * SIDE - 2
    index = index % period
    return np.minimum(index, period - (border == "reflect") - index)

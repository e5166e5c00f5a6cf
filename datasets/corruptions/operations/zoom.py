"""Images enlarged about their centre and cropped to their original size."""

import math

import numpy as np
from jaxtyping import Float, Shaped

from bnnbench.datasets.corruptions.levels import SIDE


def zoomed(
    images: Float[np.ndarray, "points 32 32 *channels"], factors: Float[np.ndarray, " factors"]
) -> Float[np.ndarray, "points 32 32 *channels"]:
    """Return the sum, over the factors, of each image's centre enlarged by the factor.

    Positions, and all bits but rare last ones of float32, equal those of scipy.ndimage.zoom at
    order 1, with which the official files were made: the centre is `ceil(32 / factor)` pixels wide,
    its ends map to the ends of an image `round(width * factor)` wide, and the centre of that image
    is kept. Each term has the images' floating-point type.
    """
    # Rows, columns, then the rest, so that whole rows are added at a time.
    lanes = np.moveaxis(images, 0, -1).reshape(SIDE, SIDE, -1)
    exact = lanes.astype(np.float64)
    total = np.zeros_like(lanes)
    for factor in factors:
        below, above, share = _ends(float(factor))
        between_rows = _between(exact, below, above, share)
        between_both = _between(between_rows.swapaxes(0, 1), below, above, share)
        total += between_both.swapaxes(0, 1).astype(images.dtype)
    return np.moveaxis(total.reshape(*images.shape[1:], len(images)), -1, 0)


def _ends(factor: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the two pixels around each pixel of the enlarged centre, and the second's weight."""
    width = math.ceil(SIDE / factor)
    enlarged = round(width * factor)
    first, start = (enlarged - SIDE) // 2, (SIDE - width) // 2
    position = (width - 1) / (enlarged - 1) * np.arange(first, first + SIDE)
    below = np.minimum(position.astype(int), width - 1)
    above = np.minimum(below + 1, width - 1)
    return start + below, start + above, np.where(above > below, position - below, 0.0)


def _between(
    rows: Shaped[np.ndarray, "32 32 lanes"],
    below: np.ndarray,
    above: np.ndarray,
    share: np.ndarray,
) -> Float[np.ndarray, "32 32 lanes"]:
    """Return interpolated rows, each between two given rows."""
    mixed = np.empty(rows.shape)
    for row, low, high, part in zip(mixed, below, above, share, strict=True):
        np.multiply(rows[low], 1 - part, out=row)
        row += rows[high] * part
    return mixed

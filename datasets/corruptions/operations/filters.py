"""Filters over many images at once: convolutions, zoom about the centre, and motion blur."""

import math
from typing import Literal

import numpy as np
from jaxtyping import Float, Int, Shaped, UInt8
from scipy import ndimage

from bnnbench.datasets.corruptions.levels import SIDE

Border = Literal["nearest", "mirror", "reflect"]
"""Values outside the image: its edge's, or the image mirrored about its edge pixels ("mirror") or
about their outer sides ("reflect").
"""


def gaussian(
    images: Float[np.ndarray, "points height width *channels"],
    std: float,
    border: Border = "nearest",
    truncate: float = 4.0,
) -> Float[np.ndarray, "points height width *channels"]:
    """Return each image smoothed by a Gaussian of `std` pixels, truncated at `truncate` stds."""
    return ndimage.gaussian_filter(images, std, axes=(1, 2), mode=border, truncate=truncate)


def correlated(images: np.ndarray, kernel: np.ndarray, border: Border = "mirror") -> np.ndarray:
    """Return each channel of each image correlated with a kernel of odd side lengths."""
    shape = (1, *kernel.shape) + (1,) * (images.ndim - 3)
    return ndimage.correlate(images, kernel.reshape(shape), mode=border)


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


TO_16_BITS = 257
"""Factor from 8 to 16 bits: 255 becomes 65535."""


def weights(radius: float, std: float) -> Float[np.ndarray, " taps"]:
    """Return one half of a Gaussian, starting at the pixel itself; the weights sum to 1."""
    taps = np.arange(2 * int(np.ceil(radius)) + 1)
    density = np.exp(-(taps**2) / (2 * std**2))
    return density / density.sum()


def offsets(
    taps: int, degrees: Float[np.ndarray, " points"]
) -> tuple[Int[np.ndarray, "points taps"], Int[np.ndarray, "points taps"]]:
    """Return the offsets, to the right and down, of the pixel that each tap reads."""
    angle = np.radians(degrees)[:, None]
    right, down = taps * np.cos(angle), taps * np.sin(angle)
    length, tap = np.hypot(down, right), np.arange(taps)
    columns, rows = (
        np.ceil(tap * component / length - 0.5).astype(int) for component in (right, down)
    )
    return columns, rows


def moved(
    images: UInt8[np.ndarray, "points height width *channels"],
    degrees: Float[np.ndarray, " points"],
    radius: float,
    std: float,
) -> UInt8[np.ndarray, "points height width *channels"]:
    """Return each image blurred by motion in its own direction.

    Computed in 16 bits, keeping the upper 8. Beyond the edge, values equal the edge's.
    """
    weight = weights(radius, std)
    right, down = offsets(len(weight), degrees)
    reach = max(int(abs(right).max(initial=0)), int(abs(down).max(initial=0)))
    windows = _windows(images, reach)
    images_in_order = np.arange(len(images))
    total = np.zeros(windows.shape[:1] + windows.shape[3:])
    for tap in range(len(weight)):
        shifted = windows[images_in_order, reach + down[:, tap], reach + right[:, tap]]
        total += weight[tap] * (shifted * np.float64(TO_16_BITS))
    total += 0.5
    return (total.astype(np.uint16) // TO_16_BITS).astype(np.uint8).reshape(images.shape)


def _windows(images: np.ndarray, reach: int) -> np.ndarray:
    """Return a view [point, row, column] of the images shifted to that corner, rows flattened."""
    points, height, width = images.shape[:3]
    border = ((0, 0), (reach, reach), (reach, reach)) + ((0, 0),) * (images.ndim - 3)
    padded = np.pad(images, border, mode="edge")
    image, row, column = padded.strides[:3]
    starts = (points, 2 * reach + 1, 2 * reach + 1)
    return np.lib.stride_tricks.as_strided(
        padded, (*starts, height, width * column), (image, row, column, row, 1), writeable=False
    )

"""Blurs: Gaussian, out of focus, through frosted glass, by motion and by zooming."""

import numpy as np
from jaxtyping import Float, Int

from bnnbench.datasets.corruptions.levels import SIDE, Images, intensities, levels
from bnnbench.datasets.corruptions.operations import filters
from bnnbench.datasets.corruptions.operations.filters import zoomed


def gaussian_blur(images: Images, std: float) -> Images:
    """Return the images smoothed by a Gaussian of `std` pixels."""
    return levels(filters.gaussian(intensities(images), std))


def defocus_blur(images: Images, radius: float, std: float) -> Images:
    """Return the images out of focus: each point becomes a disk, itself smoothed."""
    return levels(filters.correlated(intensities(images), disk(radius, std)))


def disk(radius: float, std: float) -> Float[np.ndarray, "side side"]:
    """Return a disk smoothed over 3x3 pixels, without its zero border.

    Computed in float32: its sum is then just above 1, and a flat image keeps its level.
    """
    offset = np.arange(-8, 9)
    kernel = (offset[:, None] ** 2 + offset**2 <= radius**2).astype(np.float32)
    kernel /= kernel.sum()
    beside = np.exp(-1 / (2 * std**2))
    side, centre = (np.array([beside, 1.0]) / (1 + 2 * beside)).astype(np.float32)
    for _ in range(2):
        inner = np.pad(kernel, ((0, 0), (1, 1)))
        kernel = (centre * inner[:, 1:-1] + side * (inner[:, :-2] + inner[:, 2:])).T
    width = int(abs(offset[kernel.any(0)]).max())
    return kernel[8 - width : 9 + width, 8 - width : 9 + width].astype(np.float64)


def glass_blur(
    images: Images,
    shifts: Int[np.ndarray, "points exchanges 2 30 30"],
    std: float,
    exchanges: float,
) -> Images:
    """Return the images smoothed, with pixels replaced by a neighbour, and smoothed again.

    Each pixel outside the first two rows and columns is replaced by one at most one row up and one
    column to the left (`shifts`: 0 or -1, columns first). The program behind the official files
    intends to exchange the two pixels, but overwrites one before it reads it.
    """
    smooth = levels(filters.gaussian(intensities(images), std))
    for exchange in range(shifts.shape[1]):
        left, up = (shifts[:, exchange, axis, :, :, None] < 0 for axis in range(2))
        above = np.where(left, smooth[:, 1:-1, 1:-1], smooth[:, 1:-1, 2:])
        beside = np.where(left, smooth[:, 2:, 1:-1], smooth[:, 2:, 2:])
        smooth[:, 2:, 2:] = np.where(up, above, beside)
    return levels(filters.gaussian(intensities(smooth), std))


def draw_shifts(
    rng: np.random.Generator, image: np.ndarray, std: float, exchanges: float
) -> tuple[np.ndarray]:
    """Return the shifts of the pixels of one image."""
    return (rng.integers(-1, 1, (int(exchanges), 2, SIDE - 2, SIDE - 2), np.int8),)


def motion_blur(
    images: Images, degrees: Float[np.ndarray, " points"], radius: float, std: float
) -> Images:
    """Return the images blurred by motion in the direction of `degrees`."""
    return filters.moved(images, degrees, radius, std)


def draw_degrees(rng: np.random.Generator, image: np.ndarray, *_: float) -> tuple[np.ndarray]:
    """Return the direction for one image: to the right, within 45 degrees."""
    return (rng.uniform(-45, 45, ()),)


def zoom_blur(images: Images, end: float) -> Images:
    """Return the mean of the images and of copies enlarged by 1, 1.01, ... below `end`."""
    x = intensities(images, np.float32)
    factors = np.arange(1, end, 0.01)
    return levels((x + zoomed(x, factors)) / (len(factors) + 1))

"""Motion blur in a straight line, as computed by ImageMagick."""

import numpy as np
from jaxtyping import Float, Int, UInt8

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

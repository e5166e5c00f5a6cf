"""Images as 8-bit levels and as intensities."""

from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Float, UInt8

SIDE = 32
"""Side of the images, in pixels, for which the constants of all corruptions are meant."""

Images: TypeAlias = UInt8[np.ndarray, "points 32 32 3"]
Planes: TypeAlias = Float[np.ndarray, "points 32 32"]


def intensities(
    levels: UInt8[np.ndarray, "*shape"], dtype: Any = np.float64
) -> Float[np.ndarray, "*shape"]:
    """Return levels on the scale of [0, 1]."""
    scaled = levels.astype(dtype)
    scaled /= 255
    return scaled


def levels(intensity: Float[np.ndarray, "*shape"]) -> UInt8[np.ndarray, "*shape"]:
    """Return intensities clipped to [0, 1] as levels, rounded down as in the official files."""
    cut = intensity.clip(0, 1)
    cut *= 255
    return cut.astype(np.uint8)

"""Filters over the rows and columns of many images at once."""

from typing import Literal

import numpy as np
from jaxtyping import Float
from scipy import ndimage

Border = Literal["nearest", "mirror", "reflect"]
"""Outside the image is the value of its edge, the image turned about its edge pixels, or the
image turned about their outer sides."""


def gaussian(
    images: Float[np.ndarray, "points height width *channels"],
    std: float,
    border: Border = "nearest",
    truncate: float = 4.0,
) -> Float[np.ndarray, "points height width *channels"]:
    """Return each image smoothed by a normal density of `std` pixels, cut at `truncate` stds."""
    return ndimage.gaussian_filter(images, std, axes=(1, 2), mode=border, truncate=truncate)


def correlated(images: np.ndarray, kernel: np.ndarray, border: Border = "mirror") -> np.ndarray:
    """Return each channel of each image correlated with a kernel of odd sides."""
    shape = (1, *kernel.shape) + (1,) * (images.ndim - 3)
    return ndimage.correlate(images, kernel.reshape(shape), mode=border)

"""Filters over the rows and columns of many images at once."""

from typing import Literal

import numpy as np
from jaxtyping import Float
from scipy import ndimage

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

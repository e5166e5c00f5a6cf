"""Contrast, elastic distortion, pixelation and JPEG compression."""

import io
from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from PIL import Image

from bnnbench.datasets.corruptions.levels import SIDE, Images, intensities, levels
from bnnbench.datasets.corruptions.operations import filters, warp


def contrast(images: Images, factor: float) -> Images:
    """Return the images with each channel's distance to its mean reduced."""
    x = intensities(images)
    means = np.stack([image.mean((0, 1), keepdims=True) for image in x]) if len(x) else x
    x -= means  # the mean of many images at once differs in the last bits
    x *= factor
    x += means
    return levels(x)


def pixelate(images: Images, factor: float) -> Images:
    """Return the images averaged to fewer pixels and enlarged again."""
    side = int(SIDE * factor)

    def coarse(image: np.ndarray) -> np.ndarray:
        small = Image.fromarray(image).resize((side, side), Image.Resampling.BOX)
        return np.asarray(small.resize((SIDE, SIDE), Image.Resampling.BOX))

    return _image_by_image(coarse, images)


def jpeg_compression(images: Images, quality: float) -> Images:
    """Return the images after JPEG compression at this quality by Pillow's library.

    The official files were made with version 9 of the Independent JPEG Group's library, whose
    colour conversion differs by about one level.
    """

    def compressed(image: np.ndarray) -> np.ndarray:
        file = io.BytesIO()
        Image.fromarray(image).save(file, "JPEG", quality=int(quality))
        return np.asarray(Image.open(file))

    return _image_by_image(compressed, images)


def _image_by_image(function: Callable[[np.ndarray], np.ndarray], images: Images) -> Images:
    changed = np.empty_like(images)
    for target, image in zip(changed, images, strict=True):
        target[:] = function(image)
    return changed


def elastic_transform(
    images: Images,
    corners: Float[np.ndarray, "points 3 2"],
    fields: Float[np.ndarray, "points 2 32 32"],
    displacement: float,
    smoothing: float,
    shift: float,
) -> Images:
    """Return the images under an affine map, with each pixel then moved a little.

    The map moves three points by `corners`, in [-1, 1), times `shift`, columns first; `fields`, in
    [-1, 1), are smoothed to give each pixel's displacement to the right and down.
    """
    moved = warp.affine(intensities(images, np.float32), warp.affine_map(corners * shift), "mirror")
    smooth = filters.gaussian(fields.reshape(-1, SIDE, SIDE), smoothing, "reflect", truncate=3)
    right, down = (smooth * displacement).astype(np.float32).reshape(fields.shape).swapaxes(0, 1)
    positions = np.arange(SIDE)
    return levels(warp.sampled(moved, positions[:, None] + down, positions + right, "reflect"))


def draw_warp(
    rng: np.random.Generator, image: np.ndarray, *_: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the shifts of three points and two fields for one image, all in [-1, 1)."""
    return rng.uniform(-1, 1, (3, 2)), rng.uniform(-1, 1, (2, SIDE, SIDE))

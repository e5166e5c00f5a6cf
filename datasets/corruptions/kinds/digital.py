"""Contrast, elastic distortion, pixelation and JPEG compression."""

import io
from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int
from PIL import Image

from bnnbench.datasets.corruptions.levels import SIDE, Images, intensities, levels
from bnnbench.datasets.corruptions.operations import filters
from bnnbench.datasets.corruptions.operations.filters import Border


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
    moved = affine(intensities(images, np.float32), affine_map(corners * shift), "mirror")
    smooth = filters.gaussian(fields.reshape(-1, SIDE, SIDE), smoothing, "reflect", truncate=3)
    right, down = (smooth * displacement).astype(np.float32).reshape(fields.shape).swapaxes(0, 1)
    positions = np.arange(SIDE)
    return levels(sampled(moved, positions[:, None] + down, positions + right, "reflect"))


def draw_warp(
    rng: np.random.Generator, image: np.ndarray, *_: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the shifts of three points and two fields for one image, all in [-1, 1)."""
    return rng.uniform(-1, 1, (3, 2)), rng.uniform(-1, 1, (2, SIDE, SIDE))


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

"""Snow, frost, fog and brightness."""

import numpy as np
from jaxtyping import Float

from bnnbench.datasets.corruptions.files.textures import textures
from bnnbench.datasets.corruptions.levels import SIDE, Images, Planes, intensities, levels
from bnnbench.datasets.corruptions.operations import fractal, motion
from bnnbench.datasets.corruptions.operations.colour import from_hsv, hue_saturation_value
from bnnbench.datasets.corruptions.operations.zoom import zoomed

RED, GREEN, BLUE = np.array([0.299, 0.587, 0.114], np.float32)
"""Weights of red, green and blue in a grey value."""


def snow(
    images: Images,
    normal: Planes,
    degrees: Float[np.ndarray, " points"],
    mean: float,
    std: float,
    size: float,
    threshold: float,
    radius: float,
    motion_std: float,
    share: float,
) -> Images:
    """Return the whitened images under falling flakes and a copy of them rotated by 180 degrees."""
    flakes = zoomed(mean + std * normal, np.array([size], float))
    flakes = np.where(flakes < threshold, 0.0, flakes)
    fallen = motion.moved(levels(flakes), degrees, radius, motion_std)[..., None] / 255
    x = intensities(images, np.float32)
    grey = RED * x[..., :1] + GREEN * x[..., 1:2] + BLUE * x[..., 2:]
    white = grey * 1.5 + 0.5
    x = share * x + (1 - share) * np.maximum(x, white)
    return levels(x + fallen + fallen[:, ::-1, ::-1])


def draw_snow(
    rng: np.random.Generator, image: np.ndarray, *_: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return standard normals for one image's flakes, and the direction of their fall."""
    return rng.standard_normal((SIDE, SIDE)), rng.uniform(-135, -45, ())


def frost(images: Images, place: Float[np.ndarray, "points 3"], share: float, ice: float) -> Images:
    """Return the weighted sum of the images and pieces of ice textures.

    `place`, in [0, 1), chooses the texture, its row and its column. As in the official files, the
    last row and column and the sixth texture are never chosen. Raises DataUnavailable if the
    textures are missing and cannot be downloaded.
    """
    photographs = textures()
    pieces = np.empty(images.shape)
    for piece, (photograph, down, right) in zip(pieces, place, strict=True):
        texture = photographs[int(photograph * len(photographs))]
        row = int(down * (texture.shape[0] - SIDE))
        column = int(right * (texture.shape[1] - SIDE))
        piece[:] = texture[row : row + SIDE, column : column + SIDE]
    return (share * images + ice * pieces).clip(0, 255).astype(np.uint8)


def draw_place(rng: np.random.Generator, image: np.ndarray, *_: float) -> tuple[np.ndarray]:
    """Return the numbers that choose the piece of texture for one image."""
    return (rng.random(3),)


def fog(
    images: Images,
    uniform: Float[np.ndarray, f"points {fractal.DRAWS}"],
    amount: float,
    decay: float,
) -> Images:
    """Return the images behind a plasma fractal, their maximum brightness unchanged."""
    x = intensities(images)
    brightest = x.max((1, 2, 3), keepdims=True)
    veil = amount * fractal.plasma(uniform, decay)[..., None]
    return levels((x + veil) * brightest / (brightest + amount))


def draw_fractal(rng: np.random.Generator, image: np.ndarray, *_: float) -> tuple[np.ndarray]:
    """Return the numbers in [-1, 1) that determine one image's fractal."""
    return (rng.uniform(-1, 1, fractal.DRAWS),)


def brightness(images: Images, added: float) -> Images:
    """Return the images with `added` added to their values (of hue, saturation and value)."""
    hue, saturation, value = hue_saturation_value(intensities(images))
    return levels(from_hsv(hue, saturation, (value + added).clip(0, 1)))

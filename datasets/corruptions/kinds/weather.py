"""Snow, frost, fog and brightness; fog is a plasma fractal."""

import numpy as np
from jaxtyping import Float

from bnnbench.datasets.corruptions.files.textures import textures
from bnnbench.datasets.corruptions.levels import SIDE, Images, Planes, intensities, levels
from bnnbench.datasets.corruptions.operations import filters
from bnnbench.datasets.corruptions.operations.colour import from_hsv, hue_saturation_value
from bnnbench.datasets.corruptions.operations.filters import zoomed

HEIGHT = 100.0
"""Height of the first scale."""


def _places(step: int) -> tuple[tuple[slice, slice], ...]:
    """Return the points to fill in between corners `step` apart: middles, then sides."""
    on, between = slice(0, None, step), slice(step // 2, None, step)
    return (between, between), (on, between), (between, on)


STEPS = tuple(SIDE >> scale for scale in range(5))
DRAWS = sum(3 * (SIDE // step) ** 2 for step in STEPS)
"""The number of draws in [-1, 1) for one fractal."""


def plasma(uniform: Float[np.ndarray, f"points {DRAWS}"], decay: float) -> Planes:
    """Return fractals on a torus, each from 0 to 1.

    From each scale to the next the height h falls by `decay`; the added values are h times a number
    in [-h, h), and so fall by the square of `decay`.
    """
    map_ = np.zeros((len(uniform), SIDE, SIDE))
    used, height = 0, HEIGHT
    for step in STEPS:
        count = SIDE // step
        corners = map_[:, ::step, ::step]
        for kind, (rows, columns) in enumerate(_places(step)):
            draws = uniform[:, used : used + count**2].reshape(-1, count, count)
            used += count**2
            mean = _mean_around(map_, corners, step, kind)
            map_[:, rows, columns] = mean + height * (height * draws)
        height /= decay
    map_ -= map_.min((1, 2), keepdims=True)
    map_ /= map_.max((1, 2), keepdims=True)
    return map_


def _mean_around(map_: np.ndarray, corners: np.ndarray, step: int, kind: int) -> np.ndarray:
    """Return the mean of the four known values around each middle or side."""
    if kind == 0:
        rows = corners + np.roll(corners, -1, 1)
        return (rows + np.roll(rows, -1, 2)) / 4
    middles = map_[:, step // 2 :: step, step // 2 :: step]
    across, along_axis = (1, 2) if kind == 1 else (2, 1)
    return (
        (middles + np.roll(middles, 1, across)) + (corners + np.roll(corners, -1, along_axis))
    ) / 4


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
    fallen = filters.moved(levels(flakes), degrees, radius, motion_std)[..., None] / 255
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
    uniform: Float[np.ndarray, f"points {DRAWS}"],
    amount: float,
    decay: float,
) -> Images:
    """Return the images behind a plasma fractal, their maximum brightness unchanged."""
    x = intensities(images)
    brightest = x.max((1, 2, 3), keepdims=True)
    veil = amount * plasma(uniform, decay)[..., None]
    return levels((x + veil) * brightest / (brightest + amount))


def draw_fractal(rng: np.random.Generator, image: np.ndarray, *_: float) -> tuple[np.ndarray]:
    """Return the numbers in [-1, 1) that determine one image's fractal."""
    return (rng.uniform(-1, 1, DRAWS),)


def brightness(images: Images, added: float) -> Images:
    """Return the images with `added` added to their values (of hue, saturation and value)."""
    hue, saturation, value = hue_saturation_value(intensities(images))
    return levels(from_hsv(hue, saturation, (value + added).clip(0, 1)))

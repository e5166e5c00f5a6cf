"""A film of water whose brightness depends on the distance to the edges of its drops."""

import numpy as np
from jaxtyping import Bool, Float, Int, UInt8
from scipy import ndimage

from bnnbench.datasets.corruptions.levels import SIDE
from bnnbench.datasets.corruptions.operations.filters import correlated

Levels = UInt8[np.ndarray, "points 32 32"]

WEAK, STRONG = 50, 150
"""Thresholds: an edge is steeper than `WEAK` everywhere and steeper than `STRONG` somewhere."""

ONE = 2**15
SLOPE = 13573
"""The tangent of 22.5 degrees in units of `ONE`; the tangent of 67.5 degrees is larger by 2."""

UNIT, DIAGONAL, KNIGHT = 10_000, 14_000, 21_969
"""Lengths of a straight step, diagonal step and knight's move, in ten thousandths of a pixel."""

FARTHEST = 20
EMBOSS = np.array([(-2, -1, 0), (-1, 1, 1), (0, 1, 2)])


def film(liquid: Levels, strength: float) -> Float[np.ndarray, "points 32 32"]:
    """Return films of water with maximum `strength`, in float32; 0 where dry."""
    far = np.minimum(distance(edges(liquid)), FARTHEST).astype(np.float32)
    mean = correlated(far.astype(np.float64), np.ones((3, 3))) * (1 / 9)
    even = equalised(mean.astype(np.float32).astype(np.uint8))
    relief = correlated(even.astype(np.int32), EMBOSS).clip(0, 255)
    smooth = np.rint(correlated(relief, np.ones((3, 3), np.int32)) / 9)
    wet = (liquid * smooth).astype(np.float32)
    brightest = wet.max((1, 2), keepdims=True)
    return wet / np.where(brightest > 0, brightest, 1) * np.float32(strength)


def edges(images: Levels) -> Bool[np.ndarray, "points 32 32"]:
    """Return Canny's edges: ridges of the slope that are steep enough or joined to such ridges."""
    levels = np.pad(images, ((0, 0), (1, 1), (1, 1)), mode="edge").astype(np.int32)
    across = levels[:, :-2] + 2 * levels[:, 1:-1] + levels[:, 2:]
    smoothed = levels[:, :, :-2] + 2 * levels[:, :, 1:-1] + levels[:, :, 2:]
    right, down = across[:, :, 2:] - across[:, :, :-2], smoothed[:, 2:] - smoothed[:, :-2]
    ridges = _ridges(right, down)
    joined = np.empty(ridges.shape, np.int32)
    ndimage.label(ridges > 0, _IN_ONE_IMAGE, output=joined)
    steep = np.zeros(joined.max(initial=0) + 1, bool)
    steep[joined[ridges > STRONG]] = True
    steep[0] = False
    return steep[joined]


_IN_ONE_IMAGE = np.zeros((3, 3, 3), bool)
_IN_ONE_IMAGE[1] = True


def _ridges(
    right: Int[np.ndarray, "points 32 32"], down: Int[np.ndarray, "points 32 32"]
) -> Int[np.ndarray, "points 32 32"]:
    """Return the slope where it is maximal across the edge and at least weak; else 0."""
    slope = abs(right) + abs(down)
    around = np.pad(slope, ((0, 0), (1, 1), (1, 1)))

    def beside(rows: int, columns: int) -> np.ndarray:
        return around[:, 1 + rows : 1 + rows + SIDE, 1 + columns : 1 + columns + SIDE]

    flat = abs(right) * SLOPE
    steep = abs(down) * ONE
    level = (slope > beside(0, -1)) & (slope >= beside(0, 1))
    upright = (slope > beside(-1, 0)) & (slope >= beside(1, 0))
    falling = (slope > beside(-1, -1)) & (slope > beside(1, 1))
    rising = (slope > beside(-1, 1)) & (slope > beside(1, -1))
    slanted = np.where((right ^ down) < 0, rising, falling)
    ridge = np.where(
        steep < flat, level, np.where(steep > flat + 2 * ONE * abs(right), upright, slanted)
    )
    return np.where(ridge & (slope > WEAK), slope, 0)


def distance(
    marked: Bool[np.ndarray, "points height width"],
) -> Float[np.ndarray, "points height width"]:
    """Return the length of the shortest path to a marked pixel; huge if there is none.

    Paths consist of straight and diagonal steps and of knight's moves. Source: Borgefors (1986),
    "Distance transformations in digital images", the 5x5 mask.
    """
    # Integers make the two passes exact in any order of addition.
    length = np.where(marked, 0, np.int64(2**40))
    _pass(length)
    _pass(length[:, ::-1, ::-1])
    return length / UNIT


def _pass(length: np.ndarray) -> None:
    """Shorten the paths using the rows above and, along the row, the pixels to the left."""
    width = length.shape[2]
    walked = np.arange(width) * UNIT
    for row in range(length.shape[1]):
        row_lengths = length[:, row]
        for up, side, step in _ABOVE:
            if row >= up:
                to = slice(max(0, -side), width - max(0, side))
                start = slice(max(0, side), width - max(0, -side))
                np.minimum(
                    row_lengths[:, to], length[:, row - up, start] + step, out=row_lengths[:, to]
                )
        row_lengths[:] = np.minimum.accumulate(row_lengths - walked, axis=1) + walked


_ABOVE = (
    *((2, -1, KNIGHT), (2, 1, KNIGHT), (1, -2, KNIGHT), (1, 2, KNIGHT)),
    *((1, -1, DIAGONAL), (1, 1, DIAGONAL), (1, 0, UNIT)),
)
"""Rows up, columns to the side, length."""


def equalised(images: Levels) -> Levels:
    """Return images in which all levels are about equally frequent; a flat image is unchanged."""
    pixels = SIDE * SIDE
    first = np.arange(len(images))[:, None] * 256
    flat = images.reshape(len(images), pixels)
    counts = np.bincount((flat + first).ravel(), minlength=256 * len(images)).reshape(-1, 256)
    least = counts[np.arange(len(images)), flat.min(1)][:, None]
    factor = np.float32(255) / np.maximum(pixels - least, 1).astype(np.float32)
    table = np.rint(factor * (counts.cumsum(1) - least).astype(np.float32)).clip(0, 255)
    table = np.where(least == pixels, np.arange(256), table).astype(np.uint8)
    return np.take_along_axis(table, flat.astype(np.intp), axis=1).reshape(images.shape)

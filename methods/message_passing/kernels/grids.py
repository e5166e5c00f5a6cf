"""Launch dimensions of the kernels on a GPU, from the lengths that a kernel is passed."""

from collections.abc import Callable
from math import ceil
from typing import NamedTuple

THREADS = 256
SIDE = 16
"""The side of a block of threads in sums.cu."""
MOST_BLOCKS = 4096
"""Maximum number of blocks of elementwise kernels; each thread loops over further elements."""
MOST_ACROSS = 65535
"""Maximum number of blocks along a grid's second and third dimensions."""
WIDTH, LANES, MOST_LANES = 32, 8, 32
"""The sides of a block of threads in sums over positions: features, and threads per feature (few
or many)."""
ENOUGH_BLOCKS = 512
"""Target number of blocks of a sum over rows: fewer leave a GPU idle, so rows are split."""
LEAST_ROWS = 256
"""Minimum number of rows in each part if rows are split."""


class Launch(NamedTuple):
    """Sides of the grid in blocks, and of a block in threads."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]


Grid = Callable[..., Launch]
"""Returns the launch dimensions for the lengths of a kernel's tensors."""


def elements(count: int) -> Launch:
    """Each thread computes some elements."""
    return Launch((min(ceil(count / THREADS), MOST_BLOCKS), 1, 1), (THREADS, 1, 1))


def elements_by_member(members: int, count: int) -> Launch:
    """Each thread computes some elements of one member after another."""
    blocks = min(ceil(count / THREADS), MOST_BLOCKS)
    return Launch((blocks, min(members, MOST_ACROSS), 1), (THREADS, 1, 1))


def rows(count: int, *_: int) -> Launch:
    """Each thread computes one row."""
    return Launch((ceil(count / THREADS), 1, 1), (THREADS, 1, 1))


def windows(images: int, channels: int, height: int, width: int, size: int, _: int) -> Launch:
    """Each thread computes one window of an image."""
    return rows(images * channels * (height // size) * (width // size))


def units(members: int, examples: int, positions: int, features: int, *_: int) -> Launch:
    """Each thread computes one unit."""
    return rows(members * examples * positions * features)


def positions(members: int, examples: int, positions: int, features: int, *_: int) -> Launch:
    """The threads of a block share the positions of some features of an example."""
    lanes = LANES if positions < MOST_LANES else MOST_LANES
    return Launch((members * examples * ceil(features / WIDTH), 1, 1), (WIDTH, lanes, 1))


def all_examples(members: int, examples: int, positions: int, features: int, *_: int) -> Launch:
    """The threads of a block share the examples and positions of some features."""
    lanes = LANES if positions < MOST_LANES else MOST_LANES
    return Launch((members * ceil(features / WIDTH), 1, 1), (WIDTH, lanes, 1))


def input_sums(members: int, rows: int, inputs: int, _: int) -> Launch:
    """Each thread sums over the outputs of one input."""
    return _square(rows, inputs, members)


def output_sums(members: int, rows: int, _: int, outputs: int) -> Launch:
    """Each thread sums over the inputs of one output."""
    return _square(rows, outputs, members)


def weight_sums(members: int, _: int, inputs: int, outputs: int, parts: int) -> Launch:
    """Each thread sums over a part of the rows of one weight."""
    return _square(outputs, inputs, members * parts)


def _square(first: int, second: int, layers: int) -> Launch:
    return Launch((ceil(first / SIDE), ceil(second / SIDE), layers), (SIDE, SIDE, 1))


def parts(rows: int, inputs: int, outputs: int) -> int:
    """Return the number of parts of a sum over rows, whatever the number of members."""
    blocks = max(1, ceil(inputs / SIDE) * ceil(outputs / SIDE))
    return max(1, min(ENOUGH_BLOCKS // blocks, rows // LEAST_ROWS))

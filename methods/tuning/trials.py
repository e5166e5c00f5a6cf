"""The trials of a search: a Sobol sequence, shifted by the names of the settings.

The generator is the project's own, so that records can be replayed: libraries' scrambled sequences
change between releases. Direction numbers: Joe and Kuo (2008), "Constructing Sobol Sequences with
Better Two-Dimensional Projections".
"""

import hashlib
from collections.abc import Sequence

from bnnbench.methods.tuning.space import MOST_FIELDS, Space, last_part

BITS = 32

_POLYNOMIALS = (
    (1, 0, (1,)),
    (2, 1, (1, 3)),
    (3, 1, (1, 3, 1)),
    (3, 2, (1, 1, 1)),
    (4, 1, (1, 1, 3, 3)),
    (4, 4, (1, 3, 5, 13)),
    (5, 2, (1, 1, 5, 5, 17)),
)
"""Degree, inner coefficients and first direction numbers of dimensions 2 to 8."""

assert len(_POLYNOMIALS) == MOST_FIELDS - 1


def places(names: Sequence[str], trials: int) -> list[list[float]]:
    """Return the positions of the first trials, each between 0 and 1, one for every name.

    A position depends only on the name's index and its last part. The first trials of a longer
    search are those of a shorter one. If `trials` is a power of two, each name has one trial in
    each of that many equal cells.
    """
    columns = []
    for dimension, name in enumerate(names):
        directions, shift = _directions(dimension), _shift(last_part(name))
        columns.append([_place(trial, directions, shift) for trial in range(trials)])
    return [list(row) for row in zip(*columns, strict=True)] if columns else [[]] * trials


def settings(space: Space, trials: int) -> list[dict[str, object]]:
    """Return the settings of each trial, by path, without repetitions.

    A space of few values has fewer different settings than trials.
    """
    rows = distinct_places(space, trials)
    return [{name: law.at(row[name]) for name, law in space.fields.items()} for row in rows]


def distinct_places(space: Space, trials: int) -> list[dict[str, float]]:
    """Return the positions of the trials of `settings`, by path: the first of equal settings."""
    firsts: dict[tuple[object, ...], dict[str, float]] = {}
    for row in places(tuple(space.fields), trials):
        values = tuple(law.at(u) for law, u in zip(space.fields.values(), row, strict=True))
        firsts.setdefault(values, dict(zip(space.fields, row, strict=True)))
    return list(firsts.values())


def _place(trial: int, directions: Sequence[int], shift: int) -> float:
    number = shift
    for bit, direction in enumerate(directions):
        if trial >> bit & 1:
            number ^= direction
    return (number + 0.5) / 2**BITS


def _shift(name: str) -> int:
    return int.from_bytes(hashlib.sha256(f"tuning:{name}".encode()).digest()[:4], "big")


def _directions(dimension: int) -> list[int]:
    """Return the 32-bit direction numbers of a dimension, counted from 0."""
    if dimension == 0:
        return [1 << (BITS - 1 - bit) for bit in range(BITS)]
    degree, coefficients, first = _POLYNOMIALS[dimension - 1]
    numbers = [m << (BITS - 1 - bit) for bit, m in enumerate(first)]
    for bit in range(degree, BITS):
        number = numbers[bit - degree] ^ (numbers[bit - degree] >> degree)
        for back in range(1, degree):
            if coefficients >> (degree - 1 - back) & 1:
                number ^= numbers[bit - back]
        numbers.append(number)
    return numbers

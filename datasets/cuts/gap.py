"""Folds whose test rows lie in a gap between the training rows along one feature."""

from dataclasses import dataclass
from typing import cast

import numpy as np

from bnnbench.datasets.base import DataSource, Table, TableSource, check_fold
from bnnbench.datasets.cuts.derived import Derived, require_table
from bnnbench.datasets.origins import Part
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

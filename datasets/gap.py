"""Folds whose test rows lie in a gap between the training rows, along one feature each."""

from dataclasses import dataclass

import numpy as np

from datasets import tables
from datasets.base import Origin, Part, Table
from datasets.derived import Derived
from datasets.images import Labelled


@dataclass(frozen=True)
class Gap(Derived):
    """All rows of a table, sorted by feature k for fold k: the middle third is the test part.

    What a method says of it shows whether doubt grows between the data. Rows of equal values
    stay in the order of the source. Source: Foong et al. (2019), "'In-between' uncertainty in
    Bayesian neural networks".
    """

    def __post_init__(self) -> None:
        if not hasattr(self.source, "table"):
            raise ValueError(f"needed a source of tables; got {self.source.name}")

    @property
    def name(self) -> str:
        """The source's and "-gap"."""
        return f"{self.source.name}-gap"

    @property
    def folds(self) -> int:
        """How many features there are."""
        return self._table_source.table(0).train_inputs.shape[1]

    @property
    def origin(self) -> Origin:
        """The source's: every row takes part."""
        return self.source.origin

    def images(self, part: Part) -> Labelled:
        """Raise TypeError: there are rows."""
        raise TypeError(f"{self.source.name} is made of rows")

    def table(self, fold: int) -> Table:
        """Return the outer thirds along the fold's feature, and the middle one."""
        whole = self._table_source.table(0)
        inputs = np.concatenate([whole.train_inputs, whole.test_inputs])
        targets = np.concatenate([whole.train_targets, whole.test_targets])
        order = np.argsort(inputs[:, fold], kind="stable")
        first, second = len(order) // 3, 2 * len(order) // 3
        outer = np.concatenate([order[:first], order[second:]])
        return tables.split_table(inputs, targets, outer, order[first:second])

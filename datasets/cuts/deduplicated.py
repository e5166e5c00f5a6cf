"""Folds without duplicate rows, within or across their parts."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from bnnbench.datasets.base import Table
from bnnbench.datasets.cuts.derived import Derived, require_table
from bnnbench.datasets.origins import Origin


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

"""Folds without rows that were seen in training when they are tested."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from bnnbench.datasets.base import Origin, Table
from bnnbench.datasets.cuts.derived import Derived, require_table


@dataclass(frozen=True)
class Deduplicated(Derived):
    """The folds of a table with every row of equal features once.

    Of equal rows in one part the first is kept; what is in both parts stays in the test part
    alone, so that no method is scored on inputs that it has learned from.
    """

    def __post_init__(self) -> None:
        require_table(self.source)

    @property
    def name(self) -> str:
        """The source's and "-deduplicated"."""
        return f"{self.source.name}-deduplicated"

    @property
    def origin(self) -> Origin:
        """The source's, or "subset" where that is whole."""
        return self._origin_of_subset

    def table(self, fold: int) -> Table:
        """Return the fold's rows that are left."""
        whole = self._table_source.table(fold)
        test = first_of_their_kind(whole.test_inputs)
        both = first_of_their_kind(np.concatenate([whole.test_inputs, whole.train_inputs]))
        train = both[len(whole.test_inputs) :]
        return replace(
            whole,
            train_inputs=whole.train_inputs[train],
            train_targets=whole.train_targets[train],
            test_inputs=whole.test_inputs[test],
            test_targets=whole.test_targets[test],
        )


def first_of_their_kind(rows: Float[np.ndarray, "rows features"]) -> Bool[np.ndarray, " rows"]:
    """Return which rows equal none before them."""
    _, first = np.unique(rows, axis=0, return_index=True)
    kept = np.zeros(len(rows), bool)
    kept[first] = True
    return kept

"""Folds without rows that were seen in training when they are tested."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from datasets.base import Origin, Part, Table
from datasets.derived import Derived
from datasets.images import Labelled


@dataclass(frozen=True)
class Deduplicated(Derived):
    """The folds of a table with every row of equal features once.

    Of equal rows in one part the first is kept; what is in both parts stays in the test part
    alone, so that no method is scored on inputs that it has learned from.
    """

    def __post_init__(self) -> None:
        if not hasattr(self.source, "table"):
            raise ValueError(f"needed a source of tables; got {self.source.name}")

    @property
    def name(self) -> str:
        """The source's and "-deduplicated"."""
        return f"{self.source.name}-deduplicated"

    @property
    def origin(self) -> Origin:
        """The source's, or "subset" where that is whole."""
        whole = self.source.origin
        return "subset" if whole in ("original", "generated") else whole

    def images(self, part: Part) -> Labelled:
        """Raise TypeError: there are rows."""
        raise TypeError(f"{self.source.name} is made of rows")

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

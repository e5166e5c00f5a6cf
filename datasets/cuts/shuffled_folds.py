"""Folds of a table by scikit-learn's shuffled K-fold, with a cap on their rows."""

from dataclasses import dataclass
from typing import Protocol, cast, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from bnnbench.datasets.base import Table, check_fold
from bnnbench.datasets.cuts.derived import Derived
from bnnbench.datasets.reading import tables


@runtime_checkable
class HasRows(Protocol):
    """A source of a table that also gives all its rows in the order of the file."""

    def rows(self) -> tuple[Float[np.ndarray, "rows features"], Float[np.ndarray, " rows"]]:
        """Return the inputs and the targets in original units."""
        ...


@dataclass(frozen=True)
class ShuffledFolds(Derived):
    """`count` folds over all rows of a table, of which at most `most_rows` are used per fold.

    Rows beyond the cap are left out at random: of the training part, by a stream of its own for
    each fold, and of the test part by the next fold's stream. Source: ScoringBench
    (github.com/jonaslandsgesell/ScoringBench), with 5 folds, the seed 42 and 3,000 rows.
    """

    count: int = 5
    seed: int = 42
    most_rows: int = 3000

    def __post_init__(self) -> None:
        if not isinstance(self.source, HasRows):
            raise ValueError(f"needed all rows of a table; {self.source.name} has only its folds")
        if self.count < 2 or self.most_rows < self.count:
            raise ValueError(
                "needed at least two folds, and a row for each; got "
                f"{self.count} folds of {self.most_rows} rows"
            )

    @property
    def folds(self) -> int:
        """The number of folds."""
        return self.count

    def table(self, fold: int) -> Table:
        """Return the raw rows of the fold, within the cap."""
        check_fold(self, fold)
        inputs, targets = cast(HasRows, self.source).rows()
        return tables.split_table(inputs, targets, *self.places(len(targets), fold))

    def places(
        self, rows: int, fold: int
    ) -> tuple[Int[np.ndarray, " train"], Int[np.ndarray, " test"]]:
        """Return the numbers of the training and of the test rows of a table of `rows` rows."""
        from sklearn.model_selection import KFold

        splits = KFold(self.count, shuffle=True, random_state=self.seed).split(np.empty(rows))
        train, test = list(splits)[fold]
        stream = self.seed * 10007 + fold
        most_train = int(self.most_rows * (self.count - 1) / self.count)
        most_test = self.most_rows // self.count
        return _capped(train, most_train, stream), _capped(test, most_test, stream + 1)


def _capped(rows: np.ndarray, most: int, stream: int) -> np.ndarray:
    """Return the rows, or at most this number of them in random order."""
    if len(rows) <= most:
        return rows
    return np.random.default_rng(stream).choice(rows, size=most, replace=False)

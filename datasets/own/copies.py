"""Rows that repeat others, which belong on one side of a split."""

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from bnnbench.datasets.own.preparation import Preparation
from bnnbench.datasets.reading.columns import column_of, texts_of


def copies_in(
    table: pd.DataFrame, preparation: Preparation, targets: Float[np.ndarray, " rows"]
) -> Int[np.ndarray, " rows"] | None:
    """Return the number of each row among the different ones; None if no row repeats another.

    Rows count as repeated if features and target are equal, but not if columns have so few values
    that equal rows are expected by chance, or most rows occur several times, unequally often.
    """
    rows = pd.DataFrame(np.column_stack([preparation.inputs(table), targets]))
    if not rows.duplicated().any():
        return None
    columns = [texts_of(column_of(table, column.name)) for column in preparation.columns]
    kinds = [column.nunique() for column in columns] + [len(np.unique(targets))]
    numbers = np.asarray(rows.groupby(list(rows.columns), sort=False).ngroup())
    times = np.bincount(numbers)
    if times.mean() > 2 and times.min() < times.max():
        return None
    is_continuous = 2 * max(kinds) > numbers.max()
    if not is_continuous and np.sum(np.log(kinds)) < np.log(len(rows) ** 2 / 2):
        return None
    return numbers

"""Checks of a table's rows without a model: twins, constant columns, parts of the target."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from scipy.stats import rankdata

SCREENED_ROWS, VERIFIED, BLOCK = 500, 5, 1_000
"""Rows by which sums of columns are screened, the number of sums that are compared on all rows, and
the number that are screened at once."""

Inputs = Float[np.ndarray, "rows features"]
Targets = Float[np.ndarray, " rows"]


@dataclass(frozen=True)
class Twins:
    """Rows with equal inputs."""

    distinct: int
    """The number of different inputs."""
    rows: int
    """The number of rows whose inputs occur more than once."""
    conflicts: int
    """The number of such rows whose targets differ."""


def twins_in(inputs: pd.DataFrame, targets: Targets) -> Twins:
    """Return how many rows have equal inputs, and how many of these have different targets."""
    groups = inputs.groupby(list(inputs.columns), dropna=False).ngroup().to_numpy()
    sizes = np.bincount(groups)
    pairs = np.unique(np.column_stack([groups, targets]), axis=0)[:, 0].astype(int)
    differ = np.bincount(pairs, minlength=len(sizes)) > 1
    return Twins(len(sizes), int(sizes[sizes > 1].sum()), int(sizes[differ].sum()))


def constant_columns(frame: pd.DataFrame) -> tuple[str, ...]:
    """Return the columns with one value."""
    counts = frame.nunique(dropna=False)
    return tuple(str(name) for name, count in counts.items() if count < 2)


def numbering_columns(frame: pd.DataFrame) -> tuple[str, ...]:
    """Return the columns that count the rows, by one step, in the order of the file."""
    numeric = frame.select_dtypes("number")
    steps = {str(name): np.diff(values.to_numpy()) for name, values in numeric.items()}
    return tuple(name for name, of in steps.items() if of[0] and np.allclose(of, of[0], rtol=1e-3))


def share_of_one_value(targets: Targets) -> float:
    """Return the share of the most frequent target."""
    return float(np.unique(targets, return_counts=True)[1].max() / len(targets))


def autocorrelation(targets: Targets) -> float:
    """Return the correlation of neighbouring targets in the order of the file."""
    return float(np.corrcoef(targets[:-1], targets[1:])[0, 1])


def closest_part(inputs: Inputs, names: tuple[str, ...], targets: Targets) -> tuple[str, float]:
    """Return the column, or sum or difference of two, that is closest to a real target.

    The second value is the squared correlation, of values or of ranks, whichever is larger: it is 1
    for a monotone function.
    """
    few = np.linspace(0, len(targets) - 1, min(len(targets), SCREENED_ROWS)).astype(int)
    pairs = _pairs(inputs.shape[1])
    blocks = np.array_split(pairs, len(pairs) // BLOCK + 1)
    squares = [_squares(_sums(inputs[few], block), targets[few]) for block in blocks]
    best = pairs[np.argsort(-np.concatenate(squares))[:VERIFIED]]
    verified = _squares(_sums(inputs, best), targets)
    first, second, sign = best[verified.argmax()]
    other = f" {'+' if sign > 0 else '-'} {names[second]}" if sign else ""
    return names[first] + other, float(verified.max())


def _pairs(columns: int) -> Int[np.ndarray, "parts 3"]:
    """Return first column, second column and sign of each part; the sign 0 is the first alone."""
    first, second = np.triu_indices(columns, 1)
    alone = np.arange(columns)
    parts = [(alone, alone, 0), (first, second, 1), (first, second, -1)]
    return np.concatenate([np.column_stack([a, b, np.full(len(a), sign)]) for a, b, sign in parts])


def _sums(inputs: Inputs, pairs: Int[np.ndarray, "parts 3"]) -> Float[np.ndarray, "rows parts"]:
    return inputs[:, pairs[:, 0]] + pairs[:, 2] * inputs[:, pairs[:, 1]]


def _squares(
    columns: Float[np.ndarray, "rows parts"], targets: Targets
) -> Float[np.ndarray, " parts"]:
    """Return squared correlations of columns with targets; 0 for constant ones."""
    ranks = rankdata(columns, axis=0)
    return np.maximum(_linear(columns, targets), _linear(ranks, rankdata(targets)))


def _linear(
    columns: Float[np.ndarray, "rows parts"], targets: Targets
) -> Float[np.ndarray, " parts"]:
    columns, targets = columns - columns.mean(0), targets - targets.mean()
    scale = (columns**2).sum(0) * (targets**2).sum()
    return np.where(scale > 0, (targets @ columns) ** 2 / np.where(scale > 0, scale, 1.0), 0.0)

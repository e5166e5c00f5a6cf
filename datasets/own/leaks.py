"""Whether one column alone nearly determines the target."""

import numpy as np
from jaxtyping import Float, Int

MOST_ERRORS = 0.01
"""Maximum share of rows whose class does not follow from the column."""
EXPLAINED = 0.998
"""Minimum share of a numeric target's variance that follows from the column, or of its ranks'."""
FEWEST_ROWS = 20
"""Minimum number of rows from which anything follows."""

Numbers = Float[np.ndarray, " rows"]
Kinds = Int[np.ndarray, " rows"]


def follows_from_order(column: Numbers, targets: Numbers, are_classes: bool) -> bool:
    """Return whether classes are ranges of a column, or numbers a monotone or linear function."""
    if len(targets) < FEWEST_ROWS:
        return False
    if not are_classes:
        return max(_square(column, targets), _square(_ranks(column), _ranks(targets))) >= EXPLAINED
    places, kinds = np.unique(column, return_inverse=True)
    majority, errors = _majorities(kinds, len(places), targets)
    changes = np.count_nonzero(np.diff(majority)) + 1 - len(np.unique(targets))
    return _are_few(errors + max(int(changes), 0), targets)


def follows_from_kind(kinds: Kinds, targets: Numbers, are_classes: bool) -> bool:
    """Return whether targets are functions of kinds, numbered from 0, that have several rows."""
    count = int(kinds.max()) + 1
    if len(targets) < FEWEST_ROWS or 2 * count > len(targets):
        return False
    if are_classes:
        return _are_few(_majorities(kinds, count, targets)[1], targets)
    sizes = np.maximum(np.bincount(kinds, minlength=count), 1)
    means = np.bincount(kinds, targets, count) / sizes
    return float(np.var(targets - means[kinds])) <= (1 - EXPLAINED) * float(np.var(targets))


def _majorities(kinds: Kinds, count: int, targets: Numbers) -> tuple[np.ndarray, int]:
    """Return the most frequent class of each kind, and the number of rows of other classes."""
    classes = targets.astype(int)
    most = int(classes.max()) + 1
    pairs, rows = np.unique(kinds.astype(np.int64) * most + classes, return_counts=True)
    order = np.argsort(-rows, kind="stable")  # of equally frequent classes, the first
    pairs, rows = pairs[order], rows[order]
    present, first = np.unique(pairs // most, return_index=True)
    majority = np.zeros(count, int)
    majority[present] = pairs[first] % most
    return majority, int(len(targets) - rows[first].sum())


def _are_few(errors: int, targets: Numbers) -> bool:
    """Return whether errors are few beside all rows, and beside those of the usual class."""
    others = len(targets) - np.bincount(targets.astype(int)).max()
    return bool(errors <= MOST_ERRORS * len(targets) and 5 * errors <= others > 0)


def _square(first: Numbers, second: Numbers) -> float:
    """Return the square of a correlation; 0 for a constant."""
    first, second = first - first.mean(), second - second.mean()
    scale = np.sum(first**2) * np.sum(second**2)
    return float(np.sum(first * second) ** 2 / scale) if scale > 0 else 0.0


def _ranks(values: Numbers) -> Numbers:
    from scipy.stats import rankdata

    return rankdata(values)

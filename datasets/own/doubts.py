"""Warnings about columns that may spoil a comparison; each names the column and the cure."""

import re
from collections.abc import Iterator

import numpy as np
import pandas as pd
from jaxtyping import Float

from bnnbench.datasets.own.columns.kinds import Categories, Numbers
from bnnbench.datasets.own.leaks import follows_from_kind, follows_from_order
from bnnbench.datasets.own.preparation import Preparation
from bnnbench.datasets.reading.columns import column_of, texts_of

SENTINEL = re.compile(r"-?(9{2,}|8{2,}|7{2,})")
"""A whole number that often stands for a missing one."""
DOMINANT = 0.95
"""Minimum share of one target that makes most scores meaningless."""
MEMBERS = re.compile(
    r"(^|[\W_])(id|no|nr|patient|subject|person|participant|user|customer|client|group|family"
    r"|household|site|school|hospital|clinic|animal|batch|session)s?([\W_]|$)|[a-z]I[dD]$",
    re.IGNORECASE,
)
"""A column's name that may say to whom or to what a row belongs."""
FEWEST_GROUPS = 5
MOST_ROWS = 5_000
"""Maximum number of rows by which a column is compared with the target."""


def doubts_about(
    table: pd.DataFrame,
    preparation: Preparation,
    targets: Float[np.ndarray, " rows"],
    labels: tuple[str, ...],
) -> Iterator[str]:
    """Yield warnings about the features and the target of a table; no `labels` for numbers."""
    yield from _about_targets(targets, labels)
    rows = np.linspace(0, len(targets) - 1, min(len(targets), MOST_ROWS)).astype(int)
    for column in preparation.columns:
        values = column_of(table, column.name)
        if isinstance(column, Numbers):
            yield from _about_numbers(column.name, column.notation.numbers(values))
        if _determines(column, values.iloc[rows], targets[rows], bool(labels)):
            yield (
                f"{column.name}: alone it nearly determines the target; --drop {column.name!r} if "
                "it is known only with the target"
            )
    names = [name for name in map(str, table.columns) if _has_groups(name, column_of(table, name))]
    for name in names:
        yield (
            f"{name}: several rows have the same; if they belong together, --groups {name!r} keeps "
            "them on one side of each split"
        )


def _about_targets(targets: np.ndarray, labels: tuple[str, ...]) -> Iterator[str]:
    kinds, counts = np.unique(targets, return_counts=True)
    share, value = counts.max() / len(targets), kinds[counts.argmax()]
    if share >= DOMINANT and len(kinds) > 1:
        shown = f"of class {labels[int(value)]!r}" if labels else f"{value:g}"
        yield (
            f"{share:.0%} of the targets are {shown}: a method that always predicts this is right "
            "as often, so that scores of the other rows matter"
        )


def _about_numbers(name: str, numbers: np.ndarray) -> Iterator[str]:
    steps = np.diff(numbers)
    if len(steps) > 1 and steps[0] and (steps == steps[0]).all():
        yield f"{name}: it counts the rows; --drop {name!r}, unless their order has a meaning"
        return
    known = numbers[~np.isnan(numbers)]
    for value in {known.min(), known.max()} if len(known) else ():
        others = known[known != value]
        count = len(known) - len(others)
        if value % 1 or not SENTINEL.fullmatch(f"{value:.0f}") or count < 2 or not len(others):
            continue
        low, high = others.min(), others.max()
        if max(low - value, value - high) > high - low:
            yield (
                f"{name}: {value:g} in {count} rows is far from all others ({low:g} to {high:g}); "
                "if it stands for a missing number, leave these cells empty"
            )


def _determines(column: object, values: pd.Series, targets: np.ndarray, are_classes: bool) -> bool:
    if isinstance(column, Numbers):
        return follows_from_order(column.values(values)[:, 0], targets, are_classes)
    if isinstance(column, Categories):
        return follows_from_kind(pd.factorize(texts_of(values))[0], targets, are_classes)
    return False


def _has_groups(name: str, column: pd.Series) -> bool:
    """Return whether a column's name and its repeated values look like those of groups."""
    if not MEMBERS.search(name):
        return False
    counts = column.value_counts()
    return len(counts) >= FEWEST_GROUPS and int(counts.sum()) >= 1.5 * len(counts)

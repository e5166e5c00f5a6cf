"""A user's table, from a file or a folder, as a source of folds."""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from bnnbench.datasets.base import Dataset, Table, check_fold
from bnnbench.datasets.origins import Origin
from bnnbench.datasets.own import splits
from bnnbench.datasets.own.preparation import Answers, Preparation, prepare
from bnnbench.datasets.own.reading import SPLITS, TARGETS, digest, has_parts, read
from bnnbench.datasets.reading import tables
from bnnbench.datasets.reading.cache import cached
from bnnbench.datasets.reading.columns import (
    BadTable,
    column_of,
    in_words,
    is_classes,
    require_whole,
)
from bnnbench.datasets.reading.tables import TEST_SHARE

Task = Literal["regression", "classification"]
FEWEST_ROWS = 20
FEWEST_OF_A_CLASS = 2


@dataclass(frozen=True)
class OwnTable:
    """Rows of a file whose column `target_column` is to be predicted from the others.

    `sha256` is the file's: changed content makes another source with new runs. All readers of the
    file share one copy of its table.
    """

    path: str
    target_column: str
    task: Task
    sha256: str
    split: str = ""
    """A column with the words train and test, or with fold numbers."""
    groups: str = ""
    """A column whose equal values stay on one side of a split."""
    drop: tuple[str, ...] = ()
    """Columns to leave out."""

    origin: Origin = "own"
    licence: str = "of its owner"
    bytes: int = 0

    @property
    def name(self) -> str:
        """The file's name without its extension."""
        return Path(self.path).stem

    @property
    def folds(self) -> int:
        """The number of folds: ten, or the number in the split column."""
        return splits.fold_count(self._optional(self.split))

    @property
    def target(self) -> tuple[str, str]:
        """The target's name; its unit is unknown."""
        return self.target_column, ""

    @property
    def classes(self) -> int:
        """The number of classes; 0 for regression."""
        return len(self.labels) if self.task == "classification" else 0

    @property
    def labels(self) -> tuple[str, ...]:
        """The class names in the order of their numbers."""
        return tuple(sorted(map(str, column_of(self._frame(), self.target_column).unique())))

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features; a text column has one feature per category."""
        return self.preparation().names

    @property
    def columns_in_words(self) -> str:
        """How the columns are read as features, and which of them are of doubtful use."""
        return in_words(self._used(self._frame()))

    def table(self, fold: int) -> Table:
        """Return the raw rows of a fold; for classification, targets are class numbers."""
        check_fold(self, fold)
        frame = self._frame()
        targets = self.answers().values(column_of(frame, self.target_column))
        classes = targets if self.task == "classification" else None
        columns = self._optional(self.split), self._optional(self.groups)
        train, test = splits.cut(fold, len(frame), classes, *columns)
        if not len(train) or not len(test):
            raise BadTable(f"fold {fold} of {self.name} has no training or no test rows")
        preparation = self.preparation(train)
        inputs, count = preparation.inputs(frame), self.classes
        return tables.split_table(inputs, targets, train, test, count, preparation.names)

    def preparation(self, train: np.ndarray | None = None) -> Preparation:
        """Return how columns become features, given the numbers of training rows (None: all)."""
        return prepare(self._used(self._frame()), train)

    def answers(self) -> Answers:
        """Return how the target becomes numbers."""
        labels = self.labels if self.task == "classification" else ()
        return Answers(self.target_column, labels)

    def rows(self) -> pd.DataFrame:
        """Return the rows of the file that have a target, in their order, with all columns."""
        return self._frame()

    @cached(12)
    def load(self, fold: int) -> Dataset:
        """Return the fold, standardised on its own training rows."""
        return tables.load(self, fold)

    def missing(self) -> tuple[str, ...]:
        """Return the file if it does not exist."""
        return () if Path(self.path).exists() else (self.path,)

    def fetch(self) -> None:
        """Do nothing: the user's data are not downloaded."""

    def fallbacks(self) -> "tuple[OwnTable, ...]":
        """Return no fallbacks: nothing replaces the user's data."""
        return ()

    @cached(2)
    def _frame(self) -> pd.DataFrame:
        frame = read(self.path)
        if digest(self.path) != self.sha256:
            raise BadTable(
                f"{self.path} changed while the command ran, or since the run being repeated: "
                f"run it again, or restore the file with SHA-256 {self.sha256[:12]}…"
            )
        return frame

    def _used(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the feature columns."""
        others = [self.target_column, self.split, self.groups, *self.drop]
        return frame.drop(columns=[name for name in others if name])

    def _optional(self, name: str) -> pd.Series | None:
        return column_of(self._frame(), name) if name else None


def own_table(
    path: str,
    target: str = "",
    task: Task | None = None,
    *,
    split: str = "",
    groups: str = "",
    drop: tuple[str, ...] = (),
) -> OwnTable:
    """Return the source of a file, after checking everything in it that could fail.

    If `task` is None, the target determines it. Files that name their target or split need no
    `target` or `split`. Raises `BadTable` with cause and remedy.
    """
    full = os.path.realpath(path)
    frame = read(full)
    target = target or _target_of(full, frame)
    if has_parts(full) and SPLITS in frame.columns and not (split or groups):
        split = SPLITS
    _check_columns(path, frame, [target, split, groups, *drop])
    if split and groups:
        raise BadTable("give either a split column or a group column, not both")
    if twice := {target, split, groups} & set(drop):
        raise BadTable(
            f"--drop names {sorted(twice)[0]!r}, which is the target, the split or the group: "
            "take it out of --drop"
        )
    labels = column_of(frame, target)
    require_whole(labels, classes=task == "classification")
    task = task or ("classification" if is_classes(labels) else "regression")
    if task == "regression" and not pd.api.types.is_numeric_dtype(labels):
        raise BadTable(
            f"the target {target!r} contains texts: write numbers, or use --task classification"
        )
    if task == "classification":
        _check_classes(path, labels, stratified=not (split or groups))
    source = OwnTable(full, target, task, digest(full), split, groups, tuple(drop))
    source.table(0)
    return source


def _check_columns(path: str, frame: pd.DataFrame, used: Sequence[str]) -> None:
    if len(set(frame.columns)) < len(frame.columns):
        raise BadTable(f"{path} has two columns with the same name")
    for name in filter(None, used):
        if name not in frame.columns:
            raise BadTable(f"{path} has no column {name!r}; its columns are {_columns(frame)}")
    if len(frame) < FEWEST_ROWS:
        raise BadTable(f"{path} has {len(frame)} rows; at least {FEWEST_ROWS} are needed")


def _check_classes(path: str, labels: pd.Series, stratified: bool) -> None:
    counts, name = labels.astype(str).value_counts(), labels.name
    if len(counts) < 2:
        raise BadTable(f"all targets ({name}) are {counts.index[0]}: there is nothing to learn")
    if not stratified:
        return
    if single := [repr(kind) for kind, count in counts.items() if count < FEWEST_OF_A_CLASS]:
        more = f" and {len(single) - 5} more" if len(single) > 5 else ""
        raise BadTable(
            f"these classes of {name!r} have only one row: {', '.join(sorted(single)[:5])}{more}; "
            "leave them out, or merge them with others"
        )
    if len(labels) < (least := math.ceil(len(counts) / TEST_SHARE)):
        raise BadTable(
            f"{path} has {len(labels)} rows for {len(counts)} classes of {name!r}: at least "
            f"{least} are needed, so that a tenth can have one of each; merge rare classes, or "
            "give a split with --split"
        )


def _target_of(path: str, frame: pd.DataFrame) -> str:
    """Return the target column if the file format defines it; else raise `BadTable`."""
    if Path(path).suffix == ".npz":
        return TARGETS
    raise BadTable(
        f"name the column to predict with --target; the columns of {path} are {_columns(frame)}"
    )


def _columns(frame: pd.DataFrame) -> str:
    return ", ".join(map(str, frame.columns[:12]))

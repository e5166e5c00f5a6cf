"""A user's table, from a file or a folder, as a source of folds."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd

from bnnbench.datasets.base import Dataset, Table, check_fold
from bnnbench.datasets.origins import Origin
from bnnbench.datasets.own.answering import Task, require_classes
from bnnbench.datasets.own.contents import Contents, contents_of, in_words, task_of
from bnnbench.datasets.own.files.arrays import TARGETS
from bnnbench.datasets.own.files.saved import SPLITS
from bnnbench.datasets.own.local import Local
from bnnbench.datasets.own.notes import LONGEST
from bnnbench.datasets.own.preparation import Answers, Preparation
from bnnbench.datasets.own.reading import digest, has_parts, require_unchanged, sheet_of
from bnnbench.datasets.own.splits import FEW_ROWS, Splits
from bnnbench.datasets.reading import tables
from bnnbench.datasets.reading.cache import cached
from bnnbench.datasets.reading.columns import BadTable, column_of
from bnnbench.datasets.reading.third_party_text import shortened

FEWEST_ROWS = 10
MOST_LINES, LONGEST_LINE = 60, 400
"""Maximum number of lines about a table, and of characters in one."""
PART_OF_TARGETS = re.compile(rf"{TARGETS}_\d+")


@dataclass(frozen=True)
class OwnTable(Local):
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
        """The number of folds: ten, the number in the split column, or one for each of few rows."""
        return self._splits().folds

    @property
    def has_few_rows(self) -> bool:
        """Whether there are so few rows that each is tested once, alone."""
        return self._splits().have_few_rows

    @property
    def target(self) -> tuple[str, str]:
        """The target's name; its unit is unknown."""
        return self.target_column, ""

    @property
    def classes(self) -> int:
        """The number of classes; 0 for regression."""
        return len(self.labels)

    @property
    def labels(self) -> tuple[str, ...]:
        """The class names in the order of their numbers; empty for regression."""
        return self._contents().answers.labels

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features; a text column has one feature per category."""
        return self.preparation().names

    @property
    def columns_in_words(self) -> str:
        """How the columns are read as features, and which of them are of doubtful use."""
        return in_words(self._contents())

    @property
    def lines(self) -> tuple[str, ...]:
        """A sentence for each decision about the file, and for each doubt about a comparison."""
        return self._lines()

    def table(self, fold: int) -> Table:
        """Return the raw rows of a fold; for classification, targets are class numbers."""
        check_fold(self, fold)
        contents = self._contents()
        train, test = self._splits().cut(fold)
        if not len(train) or not len(test):
            raise BadTable(f"fold {fold} of {self.name} has no training or no test rows")
        preparation = self.preparation(train)
        inputs, targets = preparation.inputs(contents.rows), contents.targets
        return tables.split_table(inputs, targets, train, test, self.classes, preparation.names)

    def preparation(self, train: np.ndarray | None = None) -> Preparation:
        """Return how columns become features, given the numbers of training rows (None: all)."""
        rows = self.rows()
        return self._contents().preparation.fitted(rows if train is None else rows.iloc[train])

    def answers(self) -> Answers:
        """Return how the target becomes numbers."""
        return self._contents().answers

    def rows(self) -> pd.DataFrame:
        """Return the rows of the file that have a target, in their order, with all columns."""
        return self._contents().rows

    @cached(12)
    def load(self, fold: int) -> Dataset:
        """Return the fold, standardised on its own training rows."""
        dataset = tables.load(self, fold)
        steps = [*self.lines, *cast(Sequence[str], dataset.facts["transforms"])]
        return replace(dataset, facts={**dataset.facts, "transforms": steps})

    def require_classes(self) -> None:
        """Raise `BadTable` if the folds cannot have rows of the classes."""
        contents = self._contents()
        if contents.answers.labels:
            folds = "given" if self.split or self.groups else "stratified"
            folds = "single" if self.has_few_rows else folds
            require_classes(self.path, contents.answers, contents.targets, folds)

    @cached(2)
    def _contents(self) -> Contents:
        sheet = sheet_of(self.path)
        require_unchanged(self.path, self.sha256)
        others = [name for name in (self.split, self.groups, *self.drop) if name]
        return contents_of(sheet, self.target_column, self.task, others)

    @cached(2)
    def _lines(self) -> tuple[str, ...]:
        lines = [shortened(line, LONGEST_LINE) for line in self._contents().lines]
        lines = [*self._splits().lines, *lines]
        more = [f"and {len(lines) - MOST_LINES} more such lines"] if len(lines) > MOST_LINES else []
        return (*lines[:MOST_LINES], *more)

    def _splits(self) -> Splits:
        contents = self._contents()
        return Splits(
            len(contents.targets),
            contents.targets if contents.answers.labels else None,
            column_of(contents.rows, self.split) if self.split else None,
            column_of(contents.rows, self.groups) if self.groups else None,
            contents.copies,
        )


def own_table(
    path: str,
    target: str = "",
    task: Task | None = None,
    *,
    split: str = "",
    groups: str = "",
    drop: tuple[str, ...] = (),
    strict: bool = False,
) -> OwnTable:
    """Return the source of a file, after checking everything in it that could fail.

    If `task` is None, the target determines it. Files that name their target or split need no
    `target` or `split`. Raises `BadTable` with cause and remedy; if `strict`, also in place of any
    decision about the file that a note tells.
    """
    full = os.path.realpath(path)
    sheet = sheet_of(full)
    target = target or _target_of(full, sheet.frame)
    if has_parts(full) and SPLITS in sheet.frame.columns and not (split or groups):
        split = SPLITS
    _check_columns(path, sheet.frame, target, [split, groups, *drop])
    others = [name for name in (split, groups, *drop) if name]
    _check_roles(target, split, groups, drop)
    least = FEW_ROWS if strict else FEWEST_ROWS
    _check_rows(path, len(sheet.frame), least)
    if strict:
        contents_of(sheet, target, task, others, strict=True)
    task = task or task_of(sheet, target)
    source = OwnTable(full, target, task, digest(full), split, groups, tuple(drop))
    _check_rows(path, len(source.rows()), least)
    source.require_classes()
    source.table(0)
    return source


def _check_columns(path: str, frame: pd.DataFrame, target: str, others: Sequence[str]) -> None:
    if len(set(frame.columns)) < len(frame.columns):
        raise BadTable(f"{path} has two columns with the same name")
    several = [name.strip() for name in target.split(",")]
    if target not in frame.columns and len(several) > 1 and {*several} <= {*frame.columns}:
        raise BadTable(f"a comparison has one target: {_choices(several)}")
    for name in filter(None, [target, *others]):
        if name not in frame.columns:
            raise BadTable(f"{path} has no column {name!r}; its columns are {_columns(frame)}")


def _check_rows(path: str, rows: int, least: int) -> None:
    if rows < least:
        raise BadTable(f"{path} has {rows} rows; at least {least} are needed")


def _check_roles(target: str, split: str, groups: str, drop: Sequence[str]) -> None:
    if split and groups:
        raise BadTable("give either a split column or a group column, not both")
    if twice := {target, split, groups} & set(drop):
        raise BadTable(
            f"--drop names {sorted(twice)[0]!r}, which is the target, the split or the group: "
            "take it out of --drop"
        )


def _target_of(path: str, frame: pd.DataFrame) -> str:
    """Return the target column if the file format defines it; else raise `BadTable`."""
    if Path(path).suffix == ".npz" and TARGETS in frame.columns:
        return TARGETS
    parts = [name for name in map(str, frame.columns) if PART_OF_TARGETS.fullmatch(name)]
    if Path(path).suffix == ".npz" and len(parts) > 1:
        raise BadTable(f"{path} has {len(parts)} targets for each row: {_choices(parts)}")
    raise BadTable(
        f"name the column to predict with --target; the columns of {path} are {_columns(frame)}"
    )


def _choices(targets: Sequence[str]) -> str:
    """Return the options that predict one of several targets without the others."""
    choices = [
        f"--target {name} --drop {','.join(other for other in targets if other != name)}"
        for name in targets[:3]
    ]
    return f"use {', or '.join(choices)}" + (", and so on" if len(targets) > 3 else "")


def _columns(frame: pd.DataFrame) -> str:
    return ", ".join(shortened(str(name), LONGEST) for name in frame.columns[:12])

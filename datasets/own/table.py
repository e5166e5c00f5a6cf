"""A table of the user, from a csv, parquet or npz file, as a source of folds."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from bnnbench.datasets.base import Dataset, Table, check_fold
from bnnbench.datasets.origins import Origin
from bnnbench.datasets.own import splits
from bnnbench.datasets.own.columns import (
    BadTable,
    column_of,
    features_of,
    is_classes,
    require_whole,
)
from bnnbench.datasets.reading import tables
from bnnbench.datasets.reading.cache import cached

Task = Literal["regression", "classification"]
FEWEST_ROWS = 20
FEWEST_OF_A_CLASS = 2


@dataclass(frozen=True)
class OwnTable:
    """Rows of a file, whose column `target_column` is to be predicted from the others.

    `sha256` is the file's: other content is another source, whose runs are made anew.
    """

    path: str
    target_column: str
    task: Task
    sha256: str
    split: str = ""
    """A column of the words train and test, or of numbers of folds."""
    groups: str = ""
    """A column whose equal values stay on one side of a split."""
    drop: tuple[str, ...] = ()
    """Columns that are left out."""

    origin: Origin = "own"
    licence: str = "of its owner"
    bytes: int = 0

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return Path(self.path).stem

    @property
    def folds(self) -> int:
        """Ten, or as many as the split column has."""
        return splits.fold_count(self._optional(self.split))

    @property
    def target(self) -> tuple[str, str]:
        """The target's name; its unit is unknown."""
        return self.target_column, ""

    @property
    def classes(self) -> int:
        """The number of classes; 0 of a regression."""
        return len(self.labels) if self.task == "classification" else 0

    @property
    def labels(self) -> tuple[str, ...]:
        """The classes of a classification, in the order of their numbers."""
        return tuple(sorted(map(str, column_of(self._frame(), self.target_column).unique())))

    def table(self, fold: int) -> Table:
        """Return the raw rows of a fold; of a classification, targets are numbers of classes."""
        check_fold(self, fold)
        frame = self._frame()
        targets = self._targets(frame)
        used = [self.target_column, self.split, self.groups, *self.drop]
        features = features_of(frame.drop(columns=[name for name in used if name]))
        classes = targets if self.task == "classification" else None
        columns = self._optional(self.split), self._optional(self.groups)
        train, test = splits.cut(fold, len(frame), classes, *columns)
        if not len(train) or not len(test):
            raise BadTable(f"fold {fold} of {self.name} has no training or no test rows")
        return tables.split_table(features.filled(train), targets, train, test)

    @cached(4)
    def load(self, fold: int) -> Dataset:
        """Return the fold, standardised on its own training rows."""
        rows = self.table(fold)
        if self.task == "regression":
            return tables.standardised(rows, self.target, self.origin, self.licence)
        return tables.labelled(rows, self.classes, self.origin, self.licence)

    def missing(self) -> tuple[str, ...]:
        """Return the file where it is not there."""
        return () if Path(self.path).exists() else (self.path,)

    def fetch(self) -> None:
        """Nothing can be downloaded."""

    def fallbacks(self) -> "tuple[OwnTable, ...]":
        """Nothing stands in for own data."""
        return ()

    def _frame(self) -> pd.DataFrame:
        frame = read(self.path)
        if digest(self.path) != self.sha256:
            raise BadTable(f"{self.path} changed while the command ran: repeat the command")
        return frame

    def _targets(self, frame: pd.DataFrame) -> np.ndarray:
        column = column_of(frame, self.target_column)
        if self.task == "regression":
            return column.to_numpy(np.float64)
        numbers = {label: number for number, label in enumerate(self.labels)}
        return column.astype(str).map(numbers).to_numpy(np.float64)

    def _optional(self, name: str) -> pd.Series | None:
        return column_of(self._frame(), name) if name else None


def own_table(
    path: str,
    target: str,
    task: Task | None = None,
    *,
    split: str = "",
    groups: str = "",
    drop: tuple[str, ...] = (),
) -> OwnTable:
    """Return the source of a file, once everything in it that could fail has been looked at.

    The task follows from the target where it is None. Raises `BadTable` with cause and cure.
    """
    full = str(Path(path).resolve())
    frame = read(full)
    if len(set(frame.columns)) < len(frame.columns):
        raise BadTable(f"{path} has two columns of one name")
    for name in filter(None, (target, split, groups, *drop)):
        if name not in frame.columns:
            known = ", ".join(map(str, frame.columns[:12]))
            raise BadTable(f"{path} has no column {name!r}; its columns are {known}")
    if split and groups:
        raise BadTable("give a split column or a group column, not both")
    if len(frame) < FEWEST_ROWS:
        raise BadTable(f"{path} has {len(frame)} rows; at least {FEWEST_ROWS} are needed")
    labels = column_of(frame, target)
    require_whole(labels)
    task = task or ("classification" if is_classes(labels) else "regression")
    if task == "regression" and not pd.api.types.is_numeric_dtype(labels):
        raise BadTable(f"the target {target!r} holds texts: take --task classification")
    counts = labels.astype(str).value_counts()
    if task == "classification" and len(counts) < 2:
        raise BadTable(f"all targets ({target}) are {counts.index[0]}: there is nothing to learn")
    if task == "classification" and not (split or groups) and counts.min() < FEWEST_OF_A_CLASS:
        raise BadTable(
            f"class {counts.idxmin()!r} of {target!r} has a single row: leave it out, or join it "
            "with another class"
        )
    source = OwnTable(full, target, task, digest(full), split, groups, tuple(drop))
    source.table(0)
    return source


def read(path: str) -> pd.DataFrame:
    """Return the table of a csv, parquet or npz file; raises `BadTable` where it cannot be read.

    An array of npz with a row for each point and several columns becomes columns with its name and
    a number, such as `inputs0`; one of a single axis becomes a column.
    """
    file = Path(path)
    if not file.is_file():
        raise BadTable(f"there is no file {path}")
    try:
        if file.suffix == ".npz":
            return _of_arrays(file)
        return pd.read_parquet(file) if file.suffix == ".parquet" else pd.read_csv(file)
    except ImportError as error:
        raise BadTable("reading parquet needs pyarrow: pip install 'bnnbench[parquet]'") from error
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        raise BadTable(f"{path} cannot be read as a table: {reason}") from error


def _of_arrays(file: Path) -> pd.DataFrame:
    columns: dict[str, np.ndarray] = {}
    with np.load(file, allow_pickle=False) as arrays:
        for name, array in arrays.items():
            if array.ndim == 1:
                columns[name] = array
            else:
                flat = array.reshape(len(array), -1)
                columns |= {f"{name}{n}": column for n, column in enumerate(flat.T)}
    return pd.DataFrame(columns)


def digest(path: str) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()

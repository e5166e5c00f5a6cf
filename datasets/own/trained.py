"""The user's rows for a network that is already trained: inputs as the network expects them.

Nothing is standardised. Rows that the network has not seen are split into calibration rows, by
which treatments choose, and test rows, by which they are scored.
"""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from pandas.api.types import is_numeric_dtype

from bnnbench.datasets.base import (
    Categorical,
    Dataset,
    Gaussian,
    Scaling,
    Split,
    Target,
    check_fold,
)
from bnnbench.datasets.facts import facts_of
from bnnbench.datasets.origins import Origin
from bnnbench.datasets.own.reading import digest, read
from bnnbench.datasets.own.table import Task
from bnnbench.datasets.reading import npz
from bnnbench.datasets.reading.bounded import TooLarge
from bnnbench.datasets.reading.cache import cached
from bnnbench.datasets.reading.columns import BadTable, column_of, is_classes

INPUTS, TARGETS = "inputs", "targets"
"""Names of the arrays of an npz file."""
SEEN = "train"
"""Name of the training rows in place of a file of calibration rows."""
MOST_CALIBRATION_ROWS = 1000
FEWEST_ROWS = 20


class Rows(NamedTuple):
    """Inputs of any shape, and targets: class numbers, or real numbers in columns."""

    inputs: np.ndarray
    targets: np.ndarray

    def chosen(self, places: np.ndarray) -> "Rows":
        """Return the rows at these places."""
        return Rows(self.inputs[places], self.targets[places])

    @property
    def of_first_target(self) -> "Rows":
        """The rows with only the first target of each."""
        return Rows(self.inputs, self.targets[:, 0])


@dataclass(frozen=True)
class TrainedOn:
    """Training rows of a network, and test rows that it has not seen.

    Calibration rows are those of a file; "train" for the training rows; or "" for half of the test
    rows, at most 1,000, drawn by `seed` and not scored. The checksums are the files': changed
    content makes another source with new runs.
    """

    train: str
    test: str
    task: Task
    classes: int
    """Number of classes; 0 for a regression."""
    sha256: tuple[str, ...]
    calibration: str = ""
    target_column: str = ""
    """The column of targets in a table."""
    seed: int = 0

    origin: Origin = "own"
    licence: str = "of its owner"
    bytes: int = 0
    folds: int = 1

    @property
    def name(self) -> str:
        """The test file's name without its extension."""
        return Path(self.test).stem

    @property
    def files(self) -> tuple[str, ...]:
        """The files of training, test and calibration rows."""
        others = (self.calibration,) if self.calibration not in ("", SEEN) else ()
        return (self.train, self.test, *others)

    @property
    def chooses_by_seen_rows(self) -> bool:
        """True if the calibration rows are the training rows."""
        return self.calibration == SEEN

    @cached(1)
    def load(self, fold: int) -> Dataset:
        """Return the only fold, as it is in the files."""
        check_fold(self, fold)
        if tuple(map(digest, self.files)) != self.sha256:
            raise BadTable(f"one of {', '.join(self.files)} changed while the command ran")
        train, test = self._rows(self.train), self._rows(self.test)
        calibration, test = self._calibration(train, test)
        split = self._split
        dataset = Dataset(
            split(train),
            split(test),
            Categorical(self.classes) if self.classes else Gaussian(),
            self.origin,
            Scaling(torch.zeros(()), torch.ones(())),
            None if self.classes else Target(self.target_column or TARGETS, "", 0.0, 1.0),
            calibration=split(calibration),
        )
        seen, unseen = (rows if self.classes else rows.of_first_target for rows in (train, test))
        facts = dict(facts_of(dataset, seen, unseen, self.licence))
        facts.pop("sha256")  # of other rows than the calibration rows
        return replace(dataset, facts=facts | {"calibration_rows": len(calibration.targets)})

    def _calibration(self, train: Rows, test: Rows) -> tuple[Rows, Rows]:
        """Return calibration rows, and the test rows that are scored."""
        if self.calibration:
            return (train if self.chooses_by_seen_rows else self._rows(self.calibration)), test
        count = min(len(test.targets) // 2, MOST_CALIBRATION_ROWS)
        order = np.random.default_rng(self.seed).permutation(len(test.targets))
        return test.chosen(np.sort(order[:count])), test.chosen(np.sort(order[count:]))

    def _rows(self, path: str) -> Rows:
        rows = read_rows(path, self.target_column)
        if self.classes:
            return Rows(rows.inputs, rows.targets.reshape(-1).astype(np.int64))
        return Rows(rows.inputs, rows.targets.reshape(len(rows.targets), -1).astype(np.float32))

    def _split(self, rows: Rows) -> Split:
        return Split(torch.from_numpy(rows.inputs), torch.from_numpy(rows.targets))

    def missing(self) -> tuple[str, ...]:
        """Return the files that do not exist."""
        return tuple(file for file in self.files if not Path(file).exists())

    def fetch(self) -> None:
        """Do nothing: the user's data are not downloaded."""

    def fallbacks(self) -> "tuple[TrainedOn, ...]":
        """Return no fallbacks: nothing replaces the user's data."""
        return ()


def trained_on(
    train: str,
    test: str,
    *,
    calibration: str = "",
    target: str = "",
    task: Task | None = None,
    classes: int | None = None,
    seed: int = 0,
) -> TrainedOn:
    """Return the source of these files, after reading them.

    Without `task`, whole targets are classes. The number of classes is at least one more than the
    largest. Raises `BadTable` with cause and cure.
    """
    full = [os.path.realpath(path) for path in (train, test)]
    others = [os.path.realpath(calibration)] if calibration not in ("", SEEN) else []
    rows = {path: read_rows(path, target) for path in (*full, *others)}
    _check(rows)
    targets = np.concatenate([one.targets.reshape(len(one.targets), -1) for one in rows.values()])
    task = task or _task(targets)
    count = 0
    if task == "classification":
        _check_classes(targets)
        count = max(int(targets.max()) + 1, classes or 0)
    if (left := len(rows[full[1]].targets)) < FEWEST_ROWS:
        raise BadTable(f"{test} has {left} rows; at least {FEWEST_ROWS} are needed")
    sums = tuple(digest(path) for path in (*full, *others))
    named = others[0] if others else calibration
    return TrainedOn(full[0], full[1], task, count, sums, named, target, seed)


def read_rows(path: str, target: str = "", *, targets: bool = True) -> Rows:
    """Return the rows of a file: an npz file with inputs and targets, or a table of numbers.

    Inputs are float32 and otherwise as in the file. Without `targets`, they need not be there.
    Raises `BadTable` with cause and cure.
    """
    if Path(path).suffix == ".npz":
        arrays = _arrays(path, targets)
        return Rows(_numbers(path, arrays[INPUTS]), arrays.get(TARGETS, np.zeros(0)))
    frame = read(path)
    if targets and target not in frame.columns:
        shown = ", ".join(map(str, frame.columns[:12]))
        raise BadTable(f"name the column to predict in {path} with --target; it has {shown}")
    columns = [name for name in frame.columns if name != target]
    texts = [name for name in columns if not is_numeric_dtype(column_of(frame, name))]
    if texts:
        raise BadTable(
            f"{path} has texts in {', '.join(map(str, texts[:5]))}: the network expects numbers; "
            "write them as the network was trained with them"
        )
    labels = column_of(frame, target).to_numpy() if targets else np.zeros(0)
    return Rows(_numbers(path, frame[columns].to_numpy(np.float32)), labels)


def _arrays(path: str, targets: bool) -> dict[str, np.ndarray]:
    needed = (INPUTS, TARGETS) if targets else (INPUTS,)
    try:
        with npz.opened(Path(path)) as opened:
            if lacking := [name for name in needed if name not in opened.headers]:
                has = ", ".join(opened.headers) or "none"
                raise BadTable(f"{path} needs the array {lacking[0]!r}; its arrays are {has}")
            return {
                name: opened.array(name) for name in (INPUTS, TARGETS) if name in opened.headers
            }
    except FileNotFoundError as error:
        raise BadTable(f"there is no file {path}") from error
    except (OSError, TooLarge, ValueError) as error:
        if isinstance(error, BadTable):
            raise
        raise BadTable(f"{path} cannot be read: {error}") from error


def _numbers(path: str, inputs: np.ndarray) -> np.ndarray:
    if inputs.ndim not in (2, 4) or not inputs.size:
        raise BadTable(
            f"{path} has inputs of shape {inputs.shape}: give rows of features, or of images as "
            "(rows, channels, height, width)"
        )
    if np.issubdtype(inputs.dtype, np.integer) and inputs.ndim == 4:
        raise BadTable(
            f"{path} has images of {inputs.dtype}: save them as the network expects them, such as "
            "(images / 255 - mean) / std with channels first"
        )
    numbers = np.require(inputs, np.float32, ["C", "W"])
    if not np.isfinite(numbers).all():
        raise BadTable(f"{path} has missing or infinite inputs, which the network cannot take")
    return numbers


def _check(rows: dict[str, Rows]) -> None:
    """Raise `BadTable` unless all files have rows of one shape, each with its target."""
    (first, *_) = rows
    for path, one in rows.items():
        if len(one.inputs) != len(one.targets):
            raise BadTable(f"{path} has {len(one.inputs)} inputs and {len(one.targets)} targets")
        for kind in (INPUTS, TARGETS):
            shape, needed = getattr(one, kind).shape[1:], getattr(rows[first], kind).shape[1:]
            if shape != needed:
                raise BadTable(f"{path} has {kind} of shape {shape}, but {first} of {needed}")
        if one.targets.dtype.kind not in "iufb" or not np.isfinite(one.targets.astype(float)).all():
            raise BadTable(
                f"{path} has targets that are no numbers, or not finite: give class numbers from "
                "0, in the order of the network's outputs, or real numbers"
            )


def _task(targets: np.ndarray) -> Task:
    import pandas as pd

    column = pd.Series(targets[:, 0])
    return "classification" if targets.shape[1] == 1 and is_classes(column) else "regression"


def _check_classes(targets: np.ndarray) -> None:
    whole = targets.shape[1] == 1 and bool((targets == np.round(targets)).all())
    if not whole or targets.min() < 0:
        raise BadTable("needed class numbers from 0, in the order of the network's outputs")

"""The user's rows for a network that is already trained: inputs as the network expects them.

Nothing is standardised. Rows that the network has not seen are split into calibration rows, by
which treatments choose, and test rows, by which they are scored.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

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
from bnnbench.datasets.own.local import Local
from bnnbench.datasets.own.reading import digest, require_unchanged
from bnnbench.datasets.own.table import Task
from bnnbench.datasets.own.trained_rows import TARGETS, Rows, check_alike, drawn_units, read_rows
from bnnbench.datasets.reading.cache import cached
from bnnbench.datasets.reading.columns import BadTable, is_classes

SEEN = "train"
"""Name of the training rows in place of a file of calibration rows."""
MOST_CALIBRATION_ROWS = 1000
FEWEST_ROWS = 20


@dataclass(frozen=True)
class TrainedOn(Local):
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
        for path, checksum in zip(self.files, self.sha256, strict=True):
            require_unchanged(path, checksum)
        train = self._rows(self.train)
        test = self._rows(self.test).ordered(train.names, self.test)
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
        facts = dict(facts_of(dataset, train.raw, test.raw, self.licence))
        facts.pop("sha256")  # of other rows than the calibration rows
        facts |= {"calibration_rows": len(calibration.targets), "columns": list(train.names)}
        return replace(dataset, facts=facts | {"transforms": [*_on_seen(train, test)]})

    def _calibration(self, train: Rows, test: Rows) -> tuple[Rows, Rows]:
        """Return calibration rows, and the test rows that are scored."""
        if self.calibration:
            if self.chooses_by_seen_rows:
                return train, test
            return self._rows(self.calibration).ordered(train.names, self.calibration), test
        count = min(len(test.targets) // 2, MOST_CALIBRATION_ROWS)
        drawn = drawn_units(test.units, count, self.seed)
        if not drawn.any():
            raise BadTable(
                f"{self.test} repeats so few different inputs that they cannot be split into "
                "calibration and test rows: give calibration rows with --calibration"
            )
        return test.chosen(np.flatnonzero(drawn)), test.chosen(np.flatnonzero(~drawn))

    def _rows(self, path: str) -> Rows:
        rows = read_rows(path, self.target_column)
        if self.classes:
            return rows._replace(targets=rows.targets.reshape(-1).astype(np.int64))
        targets = rows.targets.reshape(len(rows.targets), -1).astype(np.float32)
        return rows._replace(targets=targets)

    def _split(self, rows: Rows) -> Split:
        return Split(torch.from_numpy(rows.inputs), torch.from_numpy(rows.targets))


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
    check_alike(rows)
    targets = np.concatenate([one.targets.reshape(len(one.targets), -1) for one in rows.values()])
    task = task or _task(targets)
    count = 0
    if task == "classification":
        _check_classes(targets)
        count = max(int(targets.max()) + 1, classes or 0)
    if (left := len(rows[full[1]].targets)) < FEWEST_ROWS:
        raise BadTable(f"{test} has {left} rows; at least {FEWEST_ROWS} are needed")
    sums = tuple(digest(path) for path in (*full, *others))
    _require_different(dict(zip(("training", "test", "calibration"), sums, strict=False)))
    named = others[0] if others else calibration
    return TrainedOn(full[0], full[1], task, count, sums, named, target, seed)


def _require_different(checksums: Mapping[str, str]) -> None:
    """Raise `BadTable` if two of the files have the same content."""
    seen = {checksums["training"]: "training"}
    for role, checksum in [*checksums.items()][1:]:
        if checksum in seen:
            cure = "; to choose by training rows, give --calibration train"
            raise BadTable(
                f"the {role} rows are the {seen[checksum]} rows: give a file of other rows"
                f"{cure if role == 'calibration' else ''}"
            )
        seen[checksum] = role


def _on_seen(train: Rows, test: Rows) -> Iterator[str]:
    """Yield a sentence on test rows whose inputs are training rows' too."""
    known = {row.tobytes() for row in train.inputs}
    if count := sum(row.tobytes() in known for row in test.inputs):
        yield f"{count} of {len(test.inputs)} test rows have the inputs of training rows"


def _task(targets: np.ndarray) -> Task:
    import pandas as pd

    column = pd.Series(targets[:, 0])
    return "classification" if targets.shape[1] == 1 and is_classes(column) else "regression"


def _check_classes(targets: np.ndarray) -> None:
    whole = targets.shape[1] == 1 and bool((targets == np.round(targets)).all())
    if not whole or targets.min() < 0:
        raise BadTable("needed class numbers from 0, in the order of the network's outputs")

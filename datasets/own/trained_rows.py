"""Files of rows for a trained network: numbers exactly as the network expects them."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pandas.api.types import is_numeric_dtype

from bnnbench.datasets.own.notes import quoted
from bnnbench.datasets.own.reading import read
from bnnbench.datasets.reading import npz
from bnnbench.datasets.reading.bounded import TooLarge
from bnnbench.datasets.reading.columns import BadTable, column_of

INPUTS, TARGETS = "inputs", "targets"
"""Names of the arrays of an npz file."""


class Rows(NamedTuple):
    """Inputs of any shape, and targets: class numbers, or real numbers in columns."""

    inputs: np.ndarray
    targets: np.ndarray
    names: tuple[str, ...] = ()
    """The names of a table's columns of inputs; empty for arrays."""

    def chosen(self, places: np.ndarray) -> "Rows":
        """Return the rows at these places."""
        return self._replace(inputs=self.inputs[places], targets=self.targets[places])

    def ordered(self, names: Sequence[str], path: str) -> "Rows":
        """Return the rows of a file with their columns in the order of another table's `names`.

        Raises `BadTable` if these are not the same names. Arrays have none, and keep their order.
        """
        if not names or not self.names or tuple(names) == self.names:
            return self
        lacking = [name for name in names if name not in self.names]
        strange = [name for name in self.names if name not in names]
        if lacking or strange:
            parts = [f"lacks the columns {quoted(lacking, 5)}"] * bool(lacking)
            parts += [f"has other columns, {quoted(strange, 5)}"] * bool(strange)
            raise BadTable(f"{path} {' and '.join(parts)}: it needs the training rows' columns")
        return self._replace(inputs=self.inputs[:, [self.names.index(name) for name in names]])

    @property
    def units(self) -> np.ndarray:
        """The number of each row's inputs among the different ones, in order of appearance."""
        numbers: dict[bytes, int] = {}
        return np.array([numbers.setdefault(row.tobytes(), len(numbers)) for row in self.inputs])

    @property
    def raw(self) -> tuple[np.ndarray, np.ndarray]:
        """The inputs, and the first target of each row."""
        return self.inputs, self.targets if self.targets.ndim == 1 else self.targets[:, 0]


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
    inputs = _numbers(path, frame[columns].to_numpy(np.float32))
    return Rows(inputs, labels, tuple(map(str, columns)))


def drawn_units(units: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Return which rows are drawn: at most `count`, and of equal inputs all rows or none."""
    sizes = np.bincount(units)
    drawn = np.zeros(len(sizes), bool)
    for unit in np.random.default_rng(seed).permutation(len(sizes)):
        drawn[unit] = sizes[unit] <= count
        count -= int(sizes[unit]) * int(drawn[unit])
    return drawn[units]


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


def check_alike(rows: dict[str, Rows]) -> None:
    """Raise `BadTable` unless all files have rows of one shape, each with its target.

    Tables need columns of the same names.
    """
    (first, *_) = rows
    for path, one in rows.items():
        one.ordered(rows[first].names, path)
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

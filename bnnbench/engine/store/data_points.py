"""Data points for figures, stored once for each fold of a source: curves and planes."""

import io
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor

from bnnbench.datasets.base import Dataset
from bnnbench.datasets.conditions.plane import Plane
from bnnbench.datasets.reading import npz
from bnnbench.datasets.reading.whole_files import write_whole
from bnnbench.engine.declare.description import describe, digest
from bnnbench.engine.declare.grid import Suite
from bnnbench.engine.records.record import Record
from bnnbench.engine.store.store import CorruptRecord, Store

REMEDY = "remove it: the next run of its suite rewrites it"

Points = TypeVar("Points")


def path_of(store: Store, *identity: object) -> Path:
    """Return the file of a fold's points, named by a digest of the fold's identity."""
    return store.folder / "curves" / f"{digest(list(identity))}.npz"


def write_points(path: Path, points: object) -> None:
    """Write the arrays of a dataclass atomically to one file, leaving out None."""
    buffer = io.BytesIO()
    np.savez(buffer, **{name: array for name, array in vars(points).items() if array is not None})
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, buffer.getvalue())


def read_points(path: Path, kind: type[Points]) -> Points | None:
    """Return the dataclass with the arrays of a file; None if there is no file.

    Raises `CorruptRecord` for a file that is incomplete or has other arrays.
    """
    if not path.exists():
        return None
    try:
        dataclass: Any = kind
        return kind(**npz.arrays_of(path, [field.name for field in fields(dataclass)]))
    except OSError as error:
        raise CorruptRecord(path, error, "make it readable, or remove it") from error
    except MemoryError:
        raise
    except Exception as error:  # NumPy raises all kinds of errors for corrupt bytes
        raise CorruptRecord(path, f"not a file of data points: {error!r}", REMEDY) from error


@dataclass(frozen=True)
class Curve:
    """One fold of a source with one input and one target, in original units."""

    train_inputs: Float[np.ndarray, " rows"]
    train_targets: Float[np.ndarray, " rows"]
    test_inputs: Float[np.ndarray, " points"]
    truth: Float[np.ndarray, " points"] | None = None
    """The expected test targets; None if unknown."""


def keep_curves(suite: Suite, store: Store) -> None:
    """Store the points of every fold with one input in `folder/curves`, once for all methods."""
    for source in dict.fromkeys(case.source for case in suite.cases):
        for fold in range(min(suite.folds, source.folds)):
            path = path_of(store, describe(source), fold)
            if path.exists():
                continue
            if (curve := curve_of(source.load(fold))) is None:
                break
            write_points(path, curve)


def curve_of(data: Dataset) -> Curve | None:
    """Return the points of a data set; None unless it has one input and one real target."""
    target = data.target
    if target is None or data.train.inputs.shape[1:] != (1,) or data.train.targets.ndim != 2:
        return None

    def original(values: Tensor) -> np.ndarray:
        return (target.mean + target.std * values.double()).numpy().squeeze(1)

    return Curve(
        train_inputs=data.scaling.invert(data.train.inputs.double()).numpy().squeeze(1),
        train_targets=original(data.train.targets),
        test_inputs=data.scaling.invert(data.test.inputs.double()).numpy().squeeze(1),
        truth=None if data.truth is None else original(data.truth),
    )


def curve(store: Store, record: Record) -> Curve | None:
    """Return the points of a record's source and fold; None if none were stored.

    Raises `CorruptRecord`.
    """
    return read_points(path_of(store, record.run.get("source"), record.fold), Curve)


@dataclass(frozen=True)
class PlanePoints:
    """One fold's training points and the axes of the grid, on the network's scale."""

    train_inputs: Float[np.ndarray, "rows 2"]
    train_targets: Int[np.ndarray, " rows"]
    first: Float[np.ndarray, " columns"]
    second: Float[np.ndarray, " lines"]

    def image(self, values: Float[np.ndarray, " points"]) -> Float[np.ndarray, "lines columns"]:
        """Return values at the points of `Plane` as lines of the second coordinate, ascending."""
        return values.reshape(len(self.first), len(self.second)).T


def keep_planes(suite: Suite, store: Store) -> None:
    """Store the points of every fold in `folder/curves` if predictions cover a plane."""
    planes = [e.condition for e in suite.evaluations if isinstance(e.condition, Plane)]
    for source in dict.fromkeys(case.source for case in suite.cases) if planes else ():
        for fold in range(min(suite.folds, source.folds)):
            path = path_of(store, suite.profile, describe(source), fold)
            if not path.exists():
                write_points(path, _points(planes[0], source.load(fold)))


def plane_points(store: Store, record: Record) -> PlanePoints | None:
    """Return the points of a record's source and fold; None if none were stored.

    Raises `CorruptRecord`.
    """
    path = path_of(store, record.profile, record.run.get("source"), record.fold)
    return read_points(path, PlanePoints)


def _points(plane: Plane, data: Dataset) -> PlanePoints:
    grid = plane.select(data).inputs.double()
    first, second = (grid[:, i].unique().numpy() for i in range(2))
    return PlanePoints(
        data.train.inputs.double().numpy(), data.train.targets.long().numpy(), first, second
    )

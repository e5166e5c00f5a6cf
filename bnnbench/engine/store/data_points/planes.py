"""Training points and grid axes of planes, for maps."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from bnnbench.datasets.base import Dataset
from bnnbench.datasets.conditions.plane import Plane
from bnnbench.engine.declare.description import describe
from bnnbench.engine.declare.grid import Suite
from bnnbench.engine.records.record import Record
from bnnbench.engine.store.data_points.points import path_of, read_points, write_points
from bnnbench.engine.store.store import Store


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

"""Points and true function of one-dimensional data, for figures."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import Dataset
from bnnbench.engine.declare.description import describe
from bnnbench.engine.declare.grid import Suite
from bnnbench.engine.records.record import Record
from bnnbench.engine.store.data_points.points import path_of, read_points, write_points
from bnnbench.engine.store.store import Store


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
